package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"torno/internal/strictjson"
)

// MaxLine is the longest line with its newline, in bytes. An adapter cuts longer texts into pieces, and leaves out a
// tool's input that does not fit.
const MaxLine = 16 << 10

// Kind says what happened.
type Kind string

// The kinds of lines.
const (
	Text       Kind = "text"        // the model said it
	Thinking   Kind = "thinking"    // the model thought it
	ToolCall   Kind = "tool_call"   // the model calls a tool
	ToolResult Kind = "tool_result" // the tool's result
	Usage      Kind = "usage"       // the tokens of a turn
	Result     Kind = "result"      // the turn is over
	Notice     Kind = "notice"      // the agent says something about itself, for example that it tries again
	Raw        Kind = "raw"         // the agent printed something that its adapter does not know
	// Acknowledged says that the agent has an input of its parent; Text repeats the beginning of that input. With
	// Failed, the agent will never have it, and Text says why. It goes to the host alone: it is no event.
	Acknowledged Kind = "acknowledged"
	Session      Kind = "session" // a part of the agent's session; for the host alone

	Ask      Kind = "ask"       // the agent asks whether it may call a tool, and waits
	AskTaken Kind = "ask_taken" // the agent was given the decision; with Failed, it was not
	AskGone  Kind = "ask_gone"  // the agent has taken its question back
)

// Line is one thing that an agent did.
type Line struct {
	Kind Kind   `json:"type"`
	Text string `json:"text,omitempty"`
	More bool   `json:"more,omitempty"` // the next line of this kind continues the text
	// Parent is the tool call during which it happened, if the agent has started an agent of its own.
	Parent string  `json:"parent_tool_use_id,omitempty"`
	Tool   *Tool   `json:"tool,omitempty"`   // for a call, a result or a question
	Tokens *Tokens `json:"tokens,omitempty"` // for Usage
	Failed bool    `json:"failed,omitempty"` // for ToolResult, Result, Acknowledged and AskTaken
	N      int     `json:"n,omitempty"`      // the number of the acknowledged input
	Part   *Part   `json:"part,omitempty"`   // for Session
	Ask    string  `json:"ask,omitempty"`    // the agent's own name for its question
}

// Tool is a call of a tool.
type Tool struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Input is a JSON value. Cut says that the value was too long and is left out.
	Input json.RawMessage `json:"input,omitempty"`
	Cut   bool            `json:"cut,omitempty"`
}

// Tokens are the agent's own count for one turn. The gateway's count is in the response.
type Tokens struct {
	Input  int64 `json:"input"`  // including tokens read from a cache
	Output int64 `json:"output"` // including tokens of thinking
	Cached int64 `json:"cached,omitempty"`
}

// Encode writes a line, with its newline.
func Encode(l Line) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return nil, err
	}
	if out.Len() > MaxLine {
		return nil, fmt.Errorf("a line of %d bytes is longer than %d", out.Len(), MaxLine)
	}
	_, err := Decode(out.Bytes()[:out.Len()-1])
	return out.Bytes(), err
}

// Decode reads one line, without its newline, as hostile text. It refuses everything that it does not know.
func Decode(text []byte) (Line, error) {
	if len(text) >= MaxLine {
		return Line{}, fmt.Errorf("a line of %d bytes is too long", len(text))
	}
	var l Line
	if err := strictjson.Decode(text, &l); err != nil {
		return Line{}, fmt.Errorf("a line: %w", err)
	}
	return l, l.Check()
}

// maxName bounds ids and tool names, in bytes.
const maxName = 256

// Check returns an error if the line breaks the form.
func (l Line) Check() error {
	for _, name := range []string{l.Parent, l.tool().ID, l.tool().Name, l.Ask} {
		if len(name) > maxName {
			return fmt.Errorf("a name of %d bytes is too long", len(name))
		}
	}
	called := l.Kind == ToolCall || l.Kind == ToolResult || l.Kind == Ask
	asked := l.Kind == Ask || l.Kind == AskTaken || l.Kind == AskGone
	switch {
	case (l.Part != nil) != (l.Kind == Session):
		return fmt.Errorf("%s and a part of a session do not go together, or the part is missing", l.Kind)
	case l.Part != nil:
		return l.Part.check()
	case depth(l.tool().Input) > maxDepth:
		return fmt.Errorf("a tool's input is nested more than %d levels deep", maxDepth)
	case !l.Kind.isKnown():
		return fmt.Errorf("%.40q is not a type of line", l.Kind)
	case (l.Tool != nil) != called:
		return fmt.Errorf("%s and a tool do not go together, or the tool is missing", l.Kind)
	case (l.Tokens != nil) != (l.Kind == Usage):
		return fmt.Errorf("%s and tokens do not go together, or the tokens are missing", l.Kind)
	case l.Kind == Usage && (l.Tokens.Input < 0 || l.Tokens.Output < 0 || l.Tokens.Cached < 0):
		return errors.New("tokens are negative")
	case (l.N > 0) != (l.Kind == Acknowledged) || l.N < 0:
		return fmt.Errorf("%s and a number do not go together, or the number is missing", l.Kind)
	case (l.Ask != "") != asked:
		return fmt.Errorf("%s and a question do not go together, or the question has no name", l.Kind)
	case l.Failed && l.Kind != ToolResult && l.Kind != Result && l.Kind != Acknowledged && l.Kind != AskTaken:
		return fmt.Errorf("%s cannot fail", l.Kind)
	}
	return nil
}

// maxDepth bounds how deep a tool's input may be nested, because readers of events bound it too.
const maxDepth = 32

// depth returns how deep a JSON value is nested.
func depth(value []byte) (deepest int) {
	now, inString := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

// tool returns the line's tool, or an empty one.
func (l Line) tool() Tool {
	if l.Tool == nil {
		return Tool{}
	}
	return *l.Tool
}

func (k Kind) isKnown() bool {
	switch k {
	case Text, Thinking, ToolCall, ToolResult, Usage, Result, Notice, Raw, Acknowledged, Session, Ask, AskTaken, AskGone:
		return true
	}
	return false
}
