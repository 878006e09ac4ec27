package delegation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"torno/internal/agent"
)

// MaxSegment is the size limit of an events segment, in bytes. Both sides keep to it.
const MaxSegment = 64 << 10

// EncodeEvents writes a segment: one line of JSON for each event.
func EncodeEvents(events []Event) ([]byte, error) {
	var segment bytes.Buffer
	encoder := json.NewEncoder(&segment)
	encoder.SetEscapeHTML(false)
	for _, event := range events {
		event.Time = wireTime(event.Time)
		if err := event.check(); err != nil {
			return nil, fmt.Errorf("encode event %d: %w", event.Seq, err)
		}
		if err := encoder.Encode(event); err != nil {
			return nil, fmt.Errorf("encode event %d: %w", event.Seq, err)
		}
	}
	if segment.Len() > MaxSegment {
		return nil, fmt.Errorf("events segment of %d bytes: %w", segment.Len(), ErrTooBig)
	}
	return segment.Bytes(), nil
}

// DecodeEvents reads a segment as hostile text. If a line is torn, foreign or out of order, the error names the line,
// and DecodeEvents still returns the events of the lines before it.
func DecodeEvents(data []byte) ([]Event, error) {
	if len(data) > MaxSegment {
		return nil, fmt.Errorf("events segment of %d bytes: %w", len(data), ErrTooBig)
	}
	var events []Event
	for number := 1; len(data) > 0; number++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			return events, fmt.Errorf("events line %d: it does not end", number)
		}
		event, err := decodeEvent(line, events)
		if err != nil {
			return events, fmt.Errorf("events line %d: %w", number, err)
		}
		events, data = append(events, event), rest
	}
	return events, nil
}

func decodeEvent(line []byte, before []Event) (Event, error) {
	var event Event
	if err := decodeStrict(line, &event, "seq", "time", "type"); err != nil {
		return Event{}, err
	}
	if len(before) > 0 {
		if last := before[len(before)-1].Seq; event.Seq <= last || event.Seq != last+1 && event.Type != EventGap {
			return Event{}, fmt.Errorf("seq %d follows %d", event.Seq, last)
		}
	}
	event.Time = wireTime(event.Time)
	if len(event.Base64) == 0 {
		event.Base64 = nil
	}
	return event, event.check()
}

func (e Event) check() error {
	if e.Seq < 1 {
		return fmt.Errorf("seq must be positive, got %d", e.Seq)
	}
	if e.Text != "" && len(e.Base64) > 0 {
		return errors.New("text and base64 exclude each other")
	}
	switch e.Type {
	case EventState, EventStdout, EventStderr, EventGap:
		if e.More || e.Parent != "" || e.Tool != nil || e.Tokens != nil || e.Failed {
			return fmt.Errorf("%s is no event of an agent", e.Type)
		}
	case EventMessage, EventInterrupt:
		if len(e.Base64) > 0 || e.Parent != "" || e.Tool != nil || e.Tokens != nil || e.Failed {
			return fmt.Errorf("%s has a text and nothing else", e.Type)
		}
	case EventAsked, EventDecided:
		if err := e.checkApproval(); err != nil {
			return err
		}
	default:
		if len(e.Base64) > 0 {
			return fmt.Errorf("%s has no base64", e.Type)
		}
		if err := e.line().Check(); err != nil {
			return err
		}
	}
	if m := e.Missing; m != nil && (e.Type != EventGap || m.First < 1 || m.Last < m.First) {
		return fmt.Errorf("%s has no missing events %d to %d", e.Type, m.First, m.Last)
	}
	if e.Approval != nil && e.Type != EventAsked && e.Type != EventDecided {
		return fmt.Errorf("%s has no approval", e.Type)
	}
	return checkReason(e.Reason)
}

func (e Event) checkApproval() error {
	if e.Tool == nil || e.Tokens != nil || e.More || e.Failed || e.Parent != "" || len(e.Base64) > 0 {
		return fmt.Errorf("%s lacks its tool, or has more than that", e.Type)
	}
	if err := (agent.Line{Kind: agent.ToolCall, Tool: e.Tool}).Check(); err != nil {
		return err
	}
	return e.Approval.check(e.Type)
}

// line returns the part of the event that the agent's adapter reported.
func (e Event) line() agent.Line {
	return agent.Line{Kind: agent.Kind(e.Type), Text: e.Text, More: e.More, Parent: e.Parent, Tool: e.Tool, Tokens: e.Tokens, Failed: e.Failed}
}

// Show returns, for people, a description of an agent's action or of a message to the agent, and "" for other events.
// The messages are the parent's; everything else is the child's word, like its output.
func (e Event) Show() string {
	switch e.Type {
	case EventState, EventStdout, EventStderr, EventGap:
		return ""
	case EventMessage, EventInterrupt:
		return agent.ShowSaid(string(e.Type), e.Text, e.More)
	case EventAsked, EventDecided:
		return e.showApproval()
	}
	return agent.Show(e.line())
}

// showApproval returns, for people, a question or the decision about it. The tool and its arguments are the child's
// words.
func (e Event) showApproval() string {
	if e.Approval == nil || e.Tool == nil {
		return ""
	}
	if e.Type == EventAsked {
		return fmt.Sprintf("? approval %d: %s", e.Approval.Approval, agent.Show(agent.Line{Kind: agent.ToolCall, Tool: e.Tool})[len("> "):])
	}
	why := ""
	if e.Text != "" {
		why = ": " + e.Text
	}
	return fmt.Sprintf("? approval %d: %s by %s%s\n", e.Approval.Approval, e.Approval.Outcome, e.Approval.By, why)
}

// EventOf returns the event for a line from an agent's adapter.
func EventOf(l agent.Line) Event {
	return Event{Type: EventType(l.Kind), Text: l.Text, More: l.More, Parent: l.Parent, Tool: l.Tool, Tokens: l.Tokens, Failed: l.Failed}
}

// MissingEvents returns the event that a reader sees in place of events that are gone or never came.
func MissingEvents(first, last int64, at time.Time) Event {
	return Event{Seq: first, Time: at, Type: EventGap, Missing: &Missing{First: first, Last: last}}
}

// ShowGap returns the sentence that tells people about a gap.
func (e Event) ShowGap() string {
	switch m := e.Missing; {
	case m == nil:
		return "some output is missing here"
	case m.First == m.Last:
		return fmt.Sprintf("event %d is missing here", m.First)
	default:
		return fmt.Sprintf("events %d to %d are missing here", m.First, m.Last)
	}
}

// Output returns the output of the child, byte for byte.
func (e Event) Output() []byte {
	if len(e.Base64) > 0 {
		return e.Base64
	}
	return []byte(e.Text)
}
