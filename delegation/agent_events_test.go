package delegation

import (
	"bytes"
	"strings"
	"testing"

	"torno/internal/agent"
)

// FuzzAgentEvents: whatever the host takes of an agent, clients can read, and what the host says beside it.
func FuzzAgentEvents(f *testing.F) {
	for _, line := range []string{
		`{"type":"text","text":"a\u0001\u2028\ud800"}`, `{"type":"tool_call","tool":{"input":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}}`,
		`{"type":"tool_call","tool":{"input":{"a":1,"a":2}}}`, `{"type":"tool_call","tool":{"input":"\ud800 "}}`, `{"type":"tool_call","tool":{"input":1e999}}`,
		`{"type":"tool_call","tool":{"input":null}}`, `{"TYPE":"usage","tokens":{"input":9223372036854775807,"output":0}}`, `{"type":"tool_call","tool":{"input":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		said, err := agent.Decode(line)
		if err != nil {
			return
		}
		event := EventOf(said)
		event.Seq, event.Time = 1, instant
		data, err := EncodeEvents([]Event{event, {Seq: 2, Time: instant, Type: EventState, State: StateEnded}})
		if err != nil {
			t.Fatalf("%q is taken and cannot be told: %v", line, err)
		}
		if events, err := DecodeEvents(data); err != nil || len(events) != 2 {
			t.Errorf("%q is told as %q, which reads %+v, %v", line, data, events, err)
		}
		if grown := len(data) - len(line); grown > 3*bytes.Count(line, []byte("\u2028"))+3*bytes.Count(line, []byte("\u2029"))+400 {
			t.Errorf("%q grows by %d bytes", line, grown)
		}
	})
}
