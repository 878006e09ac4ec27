package adapter

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"torno/internal/agent"
)

// maxName is what a line takes of an id or of a tool's name.
const maxName = 256

// tell makes lines of one that may be too long: names and a tool's input are cut, and the text is spread over as many lines as it
// needs. Nothing said is nothing told, but for a tool's result and a turn's.
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
	if room <= 0 && l.Tool != nil { // it is the tool's input that fills the line
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

// roomBeside is how many bytes a text may have in JSON, beside all else of the line; 0 where even the rest does not fit.
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

// cut splits a text at a rune, so that the first part takes at most room bytes in JSON.
func cut(text string, room int) (first, rest string) {
	for i, r := range text {
		if room -= inJSON(r); room < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// inJSON is how many bytes encoding/json takes for a rune of a text.
func inJSON(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029':
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}

// name is a text cut at a rune to what a name may have.
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

// raw tells what the adapter does not understand.
func raw(text []byte) []agent.Line { return tell(agent.Line{Kind: agent.Raw, Text: string(text)}) }

func notice(text string) []agent.Line { return tell(agent.Line{Kind: agent.Notice, Text: text}) }

// inputOf is a tool's input that the adapter makes.
func inputOf(input any) json.RawMessage {
	data, err := json.Marshal(input)
	if err != nil {
		return nil
	}
	return data
}

// said is what the adapter remembers of an agent's output.
type said struct {
	understood bool // at least one line was
	over       bool // a turn is; what follows is about the last one
	turns      int  // how many are
	failed     bool
	text       string // the answer, or why it failed
	trouble    string // the last error that was no result
	spoke      bool   // the model said or did something
	session    session
}

// result ends a turn.
func (s *said) result(text string, failed bool) []agent.Line {
	s.over, s.failed, s.text = true, failed, text
	s.turns++
	return tell(agent.Line{Kind: agent.Result, Text: text, Failed: failed})
}
