package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"torno/internal/strictjson"
)

// Input is a line on an adapter's standard input: what the parent says to the agent. The adapter acknowledges each number, also one
// that it has had before, which it does not hand on again.
type Input struct {
	N    int       `json:"n"` // from 1, rising
	Kind InputKind `json:"type"`
	Text string    `json:"text,omitempty"`
}

// InputKind says what the agent is to do.
type InputKind string

// The kinds of input.
const (
	Message   InputKind = "message"   // take a text
	Interrupt InputKind = "interrupt" // stop what it does, and take the text where there is one
)

// MaxInputLine is the longest line of input, in bytes: a text of 64 KiB, of which JSON may make six times as many.
const MaxInputLine = 512 << 10

// EncodeInput writes a line of input. It begins with a line's end too, so that a line which was torn before it, by the death of the
// watcher in the middle, does not spoil it.
func EncodeInput(in Input) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('\n')
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(in); err != nil {
		return nil, err
	}
	if out.Len() > MaxInputLine {
		return nil, fmt.Errorf("a line of %d bytes is longer than %d", out.Len(), MaxInputLine)
	}
	return out.Bytes(), in.check()
}

// DecodeInput reads one line of input, without its end.
func DecodeInput(text []byte) (Input, error) {
	var in Input
	if err := strictjson.Decode(text, &in); err != nil {
		return Input{}, fmt.Errorf("a line of input: %w", err)
	}
	return in, in.check()
}

func (in Input) check() error {
	switch {
	case in.N < 1:
		return fmt.Errorf("input %d has no number from 1", in.N)
	case in.Kind != Message && in.Kind != Interrupt:
		return fmt.Errorf("input of kind %.40q is none", in.Kind)
	}
	return nil
}
