package delegation

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEvents(t *testing.T) {
	want := []Event{
		{Seq: 1, Time: instant, Type: EventState, State: StateRunning},
		{Seq: 2, Time: instant, Type: EventStdout, Text: "a <b> & \u2028 line\n"},
		{Seq: 3, Time: instant, Type: EventStderr, Base64: []byte{0xff, 0, '\n'}},
		{Seq: 9, Time: instant, Type: EventGap},
		{Seq: 10, Time: instant, Type: EventState, State: StateEnded, Reason: ReasonExited},
	}
	data, err := EncodeEvents(want)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/golden/events.canonical", data)
	if got, err := DecodeEvents(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeEvents(nil); err != nil || got != nil {
		t.Errorf("an empty segment: %+v, %v", got, err)
	}
}

func TestHostileEvents(t *testing.T) {
	const first = `{"seq":1,"time":"2026-11-21T02:15:11Z","type":"stdout","text":"a"}` + "\n"
	line := func(s string) string {
		return `{"seq":2,"time":"2026-11-21T02:15:11Z","type":"stdout"` + s + `}` + "\n"
	}
	for data, says := range map[string]string{
		first + strings.TrimSuffix(line(""), "\n"): "line 2: it does not end",
		first + line("")[:20]:                      "line 2: it does not end",
		first + "\n":                               "line 2: ",
		first + "hello\n":                          "line 2: ",
		first + first:                              "line 2: seq 1 follows 1",
		first + strings.Replace(line(""), `"seq":2`, `"seq":3`, 1):        "line 2: seq 3 follows 1",
		first + strings.Replace(line(""), `"seq":2`, `"seq":0`, 1):        "line 2: seq 0 follows 1",
		first + strings.Replace(line(""), `"seq":2,`, ``, 1):              "line 2: seq is missing",
		first + strings.Replace(line(""), `stdout`, `spawn`, 1):           `line 2: type "spawn" is none`,
		first + line(`,"text":"a","base64":"YQ=="`):                       "line 2: text and base64 exclude each other",
		first + line(`,"base64":"!"`):                                     "line 2: base64: ",
		first + line(`,"text":7`):                                         "line 2: text: ",
		first + line(`,"seq":2`):                                          `line 2: "seq" is given twice`,
		first + line(`,"reason":"No Reason"`):                             "line 2: reason ",
		first + line(`,"x":`+strings.Repeat("[", 70)):                     "line 2: nested more than",
		first + strings.TrimSuffix(line(""), "\n") + line(""):             "line 2: ",
		first + line(``) + "\xff\n":                                       "line 3: not valid UTF-8",
		strings.Replace(first, `"seq":1`, `"seq":-1`, 1):                  "line 1: seq must be positive, got -1",
		strings.Replace(first, `"seq":1`, `"seq":1e3`, 1):                 "line 1: seq: ",
		strings.Replace(first, `"seq":1`, `"seq":9223372036854775808`, 1): "line 1: seq: ",
	} {
		events, err := DecodeEvents([]byte(data))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\ngot %v, want %q", data, err, says)
		}
		if strings.HasPrefix(data, first) && (len(events) == 0 || events[0].Text != "a") {
			t.Errorf("%s\nthe good lines are lost: %+v", data, events)
		}
	}
	if _, err := DecodeEvents(make([]byte, MaxSegment+1)); !errors.Is(err, ErrTooBig) {
		t.Error(err)
	}
}

func TestAppendEventRefuses(t *testing.T) {
	for name, event := range map[string]Event{
		"no seq":        {Time: instant, Type: EventGap},
		"no type":       {Seq: 1, Time: instant},
		"both outputs":  {Seq: 1, Time: instant, Type: EventStdout, Text: "a", Base64: []byte("b")},
		"strange cause": {Seq: 1, Time: instant, Type: EventState, Reason: "\n"},
	} {
		if segment, err := AppendEvent([]byte("before"), event); err == nil || string(segment) != "before" {
			t.Errorf("%s: %q, %v", name, segment, err)
		}
	}
	if _, err := EncodeEvents([]Event{{}}); err == nil {
		t.Error("a bad event is written")
	}
}

// TestWorstOutputFits: what SplitOutput cuts is never too big for a segment, however badly it is spelled.
func TestWorstOutputFits(t *testing.T) {
	for name, output := range map[string][]byte{
		"control characters": bytes.Repeat([]byte{1}, 3*MaxEventOutput),
		"invalid bytes":      bytes.Repeat([]byte{0xff}, 3*MaxEventOutput),
		"cut characters":     []byte("x" + strings.Repeat("🧪", MaxEventOutput)),
		"line separators":    []byte(strings.Repeat("\u2028", MaxEventOutput)),
		"quotes":             bytes.Repeat([]byte(`"`), 2*MaxEventOutput+1),
	} {
		var joined []byte
		for _, event := range SplitOutput(output) {
			event.Seq, event.Time, event.Type = 1<<62, instant, EventStderr
			segment, err := AppendEvent(nil, event)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := DecodeEvents(segment)
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			joined = append(joined, got[0].Output()...)
			if utf8.Valid(output) && len(got[0].Base64) > 0 {
				t.Errorf("%s: text is cut inside a character", name)
			}
		}
		if !bytes.Equal(joined, output) {
			t.Errorf("%s: %d bytes became %d", name, len(output), len(joined))
		}
	}
	if events := SplitOutput(nil); events != nil {
		t.Errorf("no output became %+v", events)
	}
}

func TestSegmentIsFull(t *testing.T) {
	event := Event{Seq: 1, Time: instant, Type: EventStdout, Text: strings.Repeat("x", MaxEventOutput)}
	var segment []byte
	for ; event.Seq < 100; event.Seq++ {
		longer, err := AppendEvent(segment, event)
		if errors.Is(err, ErrTooBig) {
			if !bytes.Equal(longer, segment) || len(segment) < MaxSegment-2*MaxEventOutput {
				t.Errorf("full at %d bytes", len(segment))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		segment = longer
	}
	t.Errorf("never full: %d bytes", len(segment))
}
