package delegation

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestEvents(t *testing.T) {
	want := []Event{
		{Seq: 1, Time: instant, Type: EventState, State: StateRunning},
		{Seq: 2, Time: instant, Type: EventStdout, Text: "a <b> & \u2028 line\n"},
		{Seq: 3, Time: instant, Type: EventStderr, Base64: []byte{0xff, 0, '\n'}},
		{Seq: 9, Time: instant, Type: EventGap},
		{Seq: 10, Time: instant, Type: EventText, Text: "hello", More: true},
		{Seq: 11, Time: instant, Type: EventToolCall, Tool: &Tool{ID: "t1", Name: "Bash", Input: []byte(`{"command":"ls"}`)}, Parent: "t0"},
		{Seq: 12, Time: instant, Type: EventToolResult, Text: "no", Tool: &Tool{ID: "t1"}, Failed: true},
		{Seq: 13, Time: instant, Type: EventUsage, Tokens: &Tokens{Input: 3, Output: 2, Cached: 1}},
		{Seq: 14, Time: instant, Type: EventResult, Text: "done"},
		{Seq: 15, Time: instant, Type: EventState, State: StateEnded, Reason: ReasonExited},
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
		first + strings.Replace(line(""), `"seq":2`, `"seq":3`, 1):             "line 2: seq 3 follows 1",
		first + strings.Replace(line(""), `"seq":2`, `"seq":0`, 1):             "line 2: seq 0 follows 1",
		first + strings.Replace(line(""), `"seq":2,`, ``, 1):                   "line 2: seq is missing",
		first + strings.Replace(line(""), `stdout`, `spawn`, 1):                `line 2: "spawn" is not a type of line`,
		first + line(`,"text":"a","base64":"YQ=="`):                            "line 2: text and base64 exclude each other",
		first + line(`,"base64":"!"`):                                          "line 2: base64: ",
		first + line(`,"failed":true`):                                         "line 2: stdout is no event of an agent",
		first + line(`,"tool":{}`):                                             "line 2: stdout is no event of an agent",
		first + strings.Replace(line(""), `stdout`, `tool_call`, 1):            "line 2: tool_call and a tool do not go together",
		first + strings.Replace(line(`,"base64":"YQ=="`), `stdout`, `text`, 1): "line 2: text has no base64",
		first + line(`,"text":7`):                                              "line 2: text: ",
		first + line(`,"seq":2`):                                               `line 2: "seq" is given twice`,
		first + line(`,"reason":"No Reason"`):                                  "line 2: reason ",
		first + line(`,"x":`+strings.Repeat("[", 70)):                          "line 2: nested more than",
		first + strings.TrimSuffix(line(""), "\n") + line(""):                  "line 2: ",
		first + line(``) + "\xff\n":                                            "line 3: not valid UTF-8",
		strings.Replace(first, `"seq":1`, `"seq":-1`, 1):                       "line 1: seq must be positive, got -1",
		strings.Replace(first, `"seq":1`, `"seq":1e3`, 1):                      "line 1: seq: ",
		strings.Replace(first, `"seq":1`, `"seq":9223372036854775808`, 1):      "line 1: seq: ",
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

func TestEncodeEventsRefuses(t *testing.T) {
	good := Event{Seq: 1, Time: instant, Type: EventStdout, Text: strings.Repeat("x", MaxSegment/2)}
	for name, events := range map[string][]Event{
		"no seq":        {{Time: instant, Type: EventGap}},
		"no type":       {{Seq: 1, Time: instant}},
		"both outputs":  {{Seq: 1, Time: instant, Type: EventStdout, Text: "a", Base64: []byte("b")}},
		"strange cause": {{Seq: 1, Time: instant, Type: EventState, Reason: "\n"}},
		"too much":      {good, {Seq: 2, Time: instant, Type: EventStdout, Text: good.Text}},
	} {
		if segment, err := EncodeEvents(events); err == nil {
			t.Errorf("%s: %d bytes", name, len(segment))
		}
	}
	if _, err := EncodeEvents([]Event{good}); err != nil {
		t.Error(err)
	}
}

func TestEventOutput(t *testing.T) {
	for _, event := range []Event{{Text: "a\xe9"}, {Base64: []byte("a\xe9")}} {
		if got := event.Output(); string(got) != "a\xe9" {
			t.Errorf("%+v: %q", event, got)
		}
	}
	if got := (Event{Type: EventGap}).Output(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
