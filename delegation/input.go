package delegation

import (
	"errors"
	"fmt"
	"strconv"
)

// Bounds of the input that a parent gives to a run's agent.
const (
	MaxInputText = 64 << 10  // bytes in one text
	MaxInputFile = 512 << 10 // bytes in one file: in JSON a text may take six times its length
	MaxInputs    = 1000      // files for one run
)

// InputKind says whether a parent sends a message, an interrupt or a decision.
type InputKind string

// The kinds of input.
const (
	InputMessage   InputKind = "message"   // the agent gets a text
	InputInterrupt InputKind = "interrupt" // the agent stops its work; then it gets the text, if there is one
	InputDecision  InputKind = "decision"  // the parent decides a question of the agent
)

// Input is one input_<id>.<request>.<n>.json: a message, an interrupt or a decision from the parent to a run's agent.
type Input struct {
	Version    int       `json:"version"`
	SubagentID string    `json:"subagent_id"`
	RequestID  string    `json:"request_id"`
	N          int       `json:"n"` // from 1, without a gap
	Kind       InputKind `json:"kind"`
	Text       string    `json:"text,omitempty"`

	// Only in a decision: the question's number, the digest of the question that the parent saw, and the decision
	// itself.
	Approval int      `json:"approval,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Decision Decision `json:"decision,omitempty"`
}

// Decision is a parent's answer to an agent's question.
type Decision string

// The decisions.
const (
	Approve Decision = "approve"
	Deny    Decision = "deny"
)

// MaxWhy bounds, in bytes, the reason for a denial that the agent is told.
const MaxWhy = 2000

// InputStatus reports, in a status, which input of a run has been dealt with.
type InputStatus struct {
	// Acknowledged is the highest number whose input has been dealt with; all lower numbers have been dealt with too.
	// Each of these inputs has reached the agent unless Refused lists it.
	Acknowledged int            `json:"acknowledged"`
	Refused      []RefusedInput `json:"refused,omitempty"` // the last MaxRefusedInputs of them
	Missing      int            `json:"missing,omitempty"` // the watcher waits for this number, and a later one is there
}

// MaxRefusedInputs is the number of refused inputs that a status lists.
const MaxRefusedInputs = 64

// RefusedInput is an input that the agent did not get.
type RefusedInput struct {
	N    int    `json:"n"`
	Code Code   `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// InputName returns the name of the file with input n, from 1, for the run of a request.
func InputName(id SubagentID, request RequestID, n int) string {
	return "input_" + id.s + "." + request.Hash() + "." + strconv.Itoa(n) + ".json"
}

// ParseInputName splits the name of an input file. requestHash is a RequestID.Hash; n counts from 1.
func ParseInputName(name string) (rawID, requestHash string, n int, ok bool) {
	return parseNumbered(name, "input_", ".json")
}

// Encode writes an input in its one spelling.
func (in Input) Encode() ([]byte, error) {
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("encode input: %w", err)
	}
	return encode(in)
}

// DecodeInput reads an input as hostile text. Its ids and its number must match the name of its file. The error is a
// *Refusal.
func DecodeInput(data []byte, id SubagentID, request RequestID, n int) (Input, error) {
	var in Input
	if err := decodeStrict(data, &in, "version", "subagent_id", "request_id", "n", "kind"); err != nil {
		return Input{}, refuseInput(CodeUnparsable, "The input cannot be read: "+err.Error(), "write what docs/PROTOCOL.md says of input files")
	}
	if err := in.check(); err != nil {
		return Input{}, refuseInput(CodeInvalid, "The input is not valid: "+err.Error(), "write what docs/PROTOCOL.md says of input files")
	}
	if in.SubagentID != id.s || in.RequestID != request.s || in.N != n {
		return Input{}, refuseInput(CodeIDMismatch, "The input's name and its body are of different runs, or numbers",
			"give subagent_id, request_id and n as they are in the file's name")
	}
	return in, nil
}

// RefuseInputEntry does for an input's entry what RefuseEntry does for a request's entry.
func RefuseInputEntry(err error) *Refusal {
	var entry *entryError
	if !errors.As(err, &entry) {
		return nil
	}
	code := CodeNotAFile
	if errors.Is(entry, ErrTooBig) {
		code = CodeTooBig
	}
	return refuseInput(code, fmt.Sprintf("The input cannot be taken: %v", entry), "write it into a new file of the outbox and rename that")
}

func refuseInput(code Code, text, hint string) *Refusal {
	return &Refusal{Code: code, Text: text, Hint: hint}
}

func (in Input) check() error {
	if in.Version != Version {
		return unsupported(in.Version)
	}
	if _, err := ParseSubagentID(in.SubagentID); err != nil {
		return err
	}
	if _, err := ParseRequestID(in.RequestID); err != nil {
		return err
	}
	switch {
	case in.N < 1 || in.N > MaxInputs:
		return fmt.Errorf("n must be from 1 to %d, got %d", MaxInputs, in.N)
	case len(in.Text) > MaxInputText:
		return fmt.Errorf("text has %d bytes, at most %d are allowed", len(in.Text), MaxInputText)
	case in.Kind == InputDecision:
		return in.checkDecision()
	case in.Approval != 0 || in.Digest != "" || in.Decision != "":
		return fmt.Errorf("kind %.40q has no decision", in.Kind)
	case in.Kind != InputMessage && in.Kind != InputInterrupt:
		return fmt.Errorf("kind %.40q is none", in.Kind)
	case in.Kind == InputMessage && in.Text == "":
		return errors.New("a message lacks its text")
	}
	return nil
}

func (in Input) checkDecision() error {
	switch {
	case in.Approval < 1:
		return errors.New("a decision names no approval")
	case !IsDigest(in.Digest):
		return errors.New("a decision lacks the digest of what was seen: 64 hexadecimal digits")
	case in.Decision != Approve && in.Decision != Deny:
		return fmt.Errorf("decision %.40q is neither approve nor deny", in.Decision)
	case len(in.Text) > MaxWhy:
		return fmt.Errorf("text has %d bytes, at most %d are allowed", len(in.Text), MaxWhy)
	}
	return nil
}

func (s *InputStatus) check() error {
	if s == nil {
		return nil
	}
	if s.Acknowledged < 0 || s.Acknowledged > MaxInputs || s.Missing < 0 || s.Missing > MaxInputs || len(s.Refused) > MaxRefusedInputs {
		return errors.New("input: a number is not possible")
	}
	for _, r := range s.Refused {
		if r.N < 1 || !isWord(string(r.Code)) {
			return fmt.Errorf("input: refused %d with code %.100q is not possible", r.N, r.Code)
		}
	}
	return nil
}
