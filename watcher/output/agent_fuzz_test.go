package output

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// FuzzAgentOutput lets the program in the place of an adapter print anything, in pieces of any size. What the host holds of it is bounded at every
// moment, each segment can be written and read, numbers have no hole, and neither an ask, a part of a session nor an acknowledgement is
// handed on that does not pass the strict form.
func FuzzAgentOutput(f *testing.F) {
	for _, l := range []agent.Line{
		{Kind: agent.Text, Text: "a\u2028"},
		{Kind: agent.ToolCall, Tool: &agent.Tool{Name: "t", Input: json.RawMessage(`{"a":[1]}`)}},
		{Kind: agent.Ask, Ask: "q", Tool: &agent.Tool{Name: "t", Input: json.RawMessage(`{}`)}},
		{Kind: agent.Acknowledged, N: 1, Text: "x"},
		{Kind: agent.Session, Part: &agent.Part{Bundle: 1, Data: []byte("x"), Last: true}},
		{Kind: agent.Usage, Tokens: &agent.Tokens{Input: 1}},
	} {
		data, err := agent.Encode(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(3), uint16(1))
		f.Add(bytes.Repeat(data, 50), uint16(1000), uint16(7))
	}
	f.Add([]byte("no line\n\xff\x00"), uint16(1), uint16(9000))
	f.Fuzz(func(t *testing.T, data []byte, piece, times uint16) {
		output := bytes.Repeat(data, 1+int(times)%(1+(256<<10)/(1+len(data))))
		strict := func(l agent.Line) {
			if err := l.Check(); err != nil {
				t.Errorf("%+v: %v", l, err)
			}
		}
		live := shelved(t, map[delegation.EventType][]byte{})
		o := &Child{
			Live: live, Agent: true, Started: true, OnAsk: strict, OnSession: func(p agent.Part) { strict(agent.Line{Kind: agent.Session, Part: &p}) },
			OnAcknowledged: func(l agent.Line) []delegation.Event { strict(l); return nil },
		}
		for rest := output; len(rest) > 0; {
			n := min(len(rest), max(1, int(piece), len(output)/64))
			live.flushed = time.Time{}
			o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: bytes.Clone(rest[:n])})
			rest = rest[n:]
			if held := len(o.line.Text) + len(o.Stdout.buf); held > agent.MaxLine+maxTail || live.size > segmentBytes+n+agent.MaxLine {
				t.Fatalf("%d bytes of a line and the tail are held, and %d of a segment", held, live.size)
			}
		}
		o.Rest()
		live.Flush()
	})
}
