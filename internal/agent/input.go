package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"torno/internal/strictjson"
)

// Input is one line on an adapter's standard input: something that the parent says to the agent. The adapter
// acknowledges every number. It also acknowledges a number that it has had before, but does not hand that input on
// again.
type Input struct {
	N    int       `json:"n"` // from 1, rising
	Kind InputKind `json:"type"`
	Text string    `json:"text,omitempty"`
}

// InputKind says what the agent must do.
type InputKind string

// The kinds of input.
const (
	Message   InputKind = "message"   // take a text
	Interrupt InputKind = "interrupt" // stop working, then take the text if there is one
)

// MaxInputLine is the longest line of input, in bytes. A text may have 64 KiB, and JSON may make it six times as long.
const MaxInputLine = 512 << 10

// EncodeInput writes a line of input. The line also starts with a newline: if the watcher died in the middle of the
// line before, that torn line does not spoil this one.
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

// DecodeInput reads one line of input, without its newline.
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
		return fmt.Errorf("input %d: the first input has the number 1", in.N)
	case in.Kind != Message && in.Kind != Interrupt:
		return fmt.Errorf("%.40q is not a kind of input", in.Kind)
	}
	return nil
}
