package delegation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxSegment is the size of an events segment in bytes, which neither side exceeds.
const MaxSegment = 64 << 10

// MaxEventOutput is the most output that one event carries. In the worst spelling it grows sixfold and still fits.
const MaxEventOutput = 8 << 10

// EncodeEvents writes a segment: one line of JSON for each event. Use AppendEvent where the segment grows bit by bit.
func EncodeEvents(events []Event) ([]byte, error) {
	var segment []byte
	var err error
	for _, event := range events {
		if segment, err = AppendEvent(segment, event); err != nil {
			return nil, err
		}
	}
	return segment, nil
}

// AppendEvent adds the line of an event to a segment. When it does not fit any more, the segment is returned as it was,
// with ErrTooBig: publish it and begin the next one.
func AppendEvent(segment []byte, event Event) ([]byte, error) {
	event.Time = wireTime(event.Time)
	if err := event.check(); err != nil {
		return segment, fmt.Errorf("encode event: %w", err)
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		return segment, fmt.Errorf("encode event: %w", err)
	}
	if len(segment)+line.Len() > MaxSegment {
		return segment, fmt.Errorf("events segment: %w", ErrTooBig)
	}
	return append(segment, line.Bytes()...), nil
}

// DecodeEvents reads a segment as hostile text. A line that is torn, foreign or out of order is an error that names it;
// the events of the lines before it are returned beside it.
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
	default:
		return fmt.Errorf("type %.100q is none", e.Type)
	}
	return checkReason(e.Reason)
}

// Output is what the child wrote, byte for byte.
func (e Event) Output() []byte {
	if len(e.Base64) > 0 {
		return e.Base64
	}
	return []byte(e.Text)
}

// SplitOutput cuts output into pieces that fit an event each, where it can between characters, and says in which field
// each travels. The caller adds sequence, time and type.
func SplitOutput(output []byte) []Event {
	var events []Event
	for len(output) > 0 {
		piece := output[:min(len(output), MaxEventOutput)]
		if len(piece) < len(output) {
			piece = piece[:characterEnd(piece)]
		}
		if utf8.Valid(piece) {
			events = append(events, Event{Text: string(piece)})
		} else {
			events = append(events, Event{Base64: bytes.Clone(piece)})
		}
		output = output[len(piece):]
	}
	return events
}

// characterEnd is the length of piece without a character that is cut off at its end.
func characterEnd(piece []byte) int {
	for back := 1; back < utf8.UTFMax && back < len(piece); back++ {
		if start := len(piece) - back; utf8.RuneStart(piece[start]) {
			if utf8.FullRune(piece[start:]) {
				break
			}
			return start
		}
	}
	return len(piece)
}
