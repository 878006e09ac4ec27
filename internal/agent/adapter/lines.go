package adapter

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"torno/internal/agent"
)

// maxName bounds an id or a tool's name in a line, in bytes.
const maxName = 256

// tell makes lines out of one line that may be too long. It shortens names, drops a tool's input that does not fit, and
// spreads the text over as many lines as it needs. For an empty text, thought or notice it makes no line; the result of
// a tool or of a turn always gets one.
func tell(l agent.Line) []agent.Line {
	if said := l.Kind == agent.Text || l.Kind == agent.Thinking || l.Kind == agent.Notice; said && l.Text == "" {
		return nil
	}
	l.Parent = name(l.Parent)
	if l.Tool != nil {
		tool := *l.Tool
		tool.ID, tool.Name = name(tool.ID), name(tool.Name)
		l.Tool = &tool
	}
	text := valid(l.Text)
	l.Text, l.More = "", true
	room := roomBeside(l)
	if room <= 0 && l.Tool != nil { // the tool's input fills the line
		l.Tool.Input, l.Tool.Cut = nil, true
		room = roomBeside(l)
	}
	var told []agent.Line
	for {
		l.Text, text = cut(text, room)
		l.More = text != ""
		told = append(told, l)
		if !l.More {
			return told
		}
	}
}

// roomBeside returns how many bytes of JSON the line has left for a text; 0 if even the rest does not fit.
func roomBeside(l agent.Line) int {
	if l.Tool != nil && len(l.Tool.Input) > agent.MaxLine {
		return 0
	}
	rest, err := agent.Encode(l)
	if err != nil {
		return 0
	}
	return agent.MaxLine - len(rest) - len(`"text":"",`)
}

// cut splits a text between two runes, so that the first part takes at most room bytes in JSON.
func cut(text string, room int) (first, rest string) {
	for i, r := range text {
		if room -= inJSON(r); room < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// inJSON returns how many bytes encoding/json needs for a rune of a text.
func inJSON(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029':
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}

// name cuts a text, between two runes, to the longest that a name may be.
func name(text string) string {
	text = valid(text)
	if len(text) <= maxName {
		return text
	}
	end := maxName
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// raw reports a line that the adapter does not understand.
func raw(text []byte) []agent.Line { return tell(agent.Line{Kind: agent.Raw, Text: string(text)}) }

func notice(text string) []agent.Line { return tell(agent.Line{Kind: agent.Notice, Text: text}) }

// inputOf encodes a tool's input that the adapter itself composes.
func inputOf(input any) json.RawMessage {
	data, err := json.Marshal(input)
	if err != nil {
		return nil
	}
	return data
}

// said holds the adapter's memory of an agent's output.
type said struct {
	understood bool // the adapter understood at least one line
	over       bool // a turn has ended; failed and text are about the last one
	turns      int  // how many turns have ended
	failed     bool
	text       string // the answer, or why it failed
	trouble    string // the last error that was not a result
	spoke      bool   // the model said or did something
	session    session
}

// result notes the end of a turn, and returns the lines that report it.
func (s *said) result(text string, failed bool) []agent.Line {
	s.over, s.failed, s.text = true, failed, text
	s.turns++
	return tell(agent.Line{Kind: agent.Result, Text: text, Failed: failed})
}
