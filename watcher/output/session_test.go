package output

import (
	"bytes"
	"testing"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// TestASessionIsNoEvent: its parts go to the store alone, however the output is cut, and not into the outbox or the tails.
func TestASessionIsNoEvent(t *testing.T) {
	part := agent.Part{Bundle: 1, Data: []byte("secret"), Last: true, Version: "1"}
	line, err := agent.Encode(agent.Line{Kind: agent.Session, Part: &part})
	if err != nil {
		t.Fatal(err)
	}
	live := sink()
	live.Publish = func(_ int, events []delegation.Event) error {
		t.Errorf("published were %+v", events)
		return nil
	}
	for _, size := range []int{1, 7, 1000} {
		var kept []agent.Part
		o := &Child{Live: live, Agent: true, Started: true, OnSession: func(p agent.Part) { kept = append(kept, p) }}
		for rest := line; len(rest) > 0; {
			n := min(size, len(rest))
			o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: rest[:n]})
			rest = rest[n:]
		}
		o.Live.Flush()
		if len(kept) != 1 || !bytes.Equal(kept[0].Data, part.Data) || !kept[0].Last || o.Stdout.String() != "" {
			t.Errorf("in pieces of %d: kept is %+v, the tail %q", size, kept, o.Stdout.String())
		}
	}
	without := &Child{Live: live, Agent: true, Started: true}
	without.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: line})
	without.Live.Flush()
}
