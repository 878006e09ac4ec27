package output

import (
	"strings"
	"testing"
	"testing/synctest"

	"torno/delegation"
	"torno/internal/agent"
	"torno/sandbox"
)

// TestAFloodTakesNoWordOfTheHosts: a child that prints faster than is shown, and asks as much as it may in the same moment, loses what
// it printed. What the host says of its questions is told, and so is how the run has ended.
func TestAFloodTakesNoWordOfTheHosts(t *testing.T) {
	const asks = 8
	for name, after := range map[string]sandbox.Chunk{
		"and is silent":   {},
		"and says more":   {Stream: sandbox.Stdout, Bytes: []byte(`{"type":"text","text":"a"}` + "\n")},
		"and prints more": {Stream: sandbox.Stderr, Bytes: []byte(strings.Repeat("a\n", 100))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf := shelf{T: t}
				o := &Child{Live: shelf.open(), Agent: true, Started: true}
				flood := []byte(strings.Repeat(`{"type":"text","text":"`+strings.Repeat("y", 8000)+`"}`+"\n", 4))
				for range 2 * segmentBurst {
					o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: flood})
				}
				for n := range asks {
					o.Live.Tell(delegation.Event{
						Type: delegation.EventAsked, Tool: &agent.Tool{Name: "Bash", Input: []byte(`{"command":"` + strings.Repeat("x", 12_000) + `"}`)},
						Approval: &delegation.ApprovalEvent{Approval: n + 1, Digest: strings.Repeat("0", 64)},
					})
				}
				if after.Bytes != nil {
					o.Take(after)
				}
				o.Live.State(delegation.StateEnded, delegation.ReasonExited)
				o.Live.Flush()
				told := map[delegation.EventType]int{}
				for _, events := range shelf.segments {
					for _, e := range events {
						told[e.Type]++
					}
				}
				if told[delegation.EventAsked] != asks || told[delegation.EventState] != 1 || shelf.most > delegation.MaxSegment {
					t.Errorf("told of the host's words are %v, and the largest segment has %d bytes", told, shelf.most)
				}
				if told[delegation.EventGap] == 0 {
					t.Error("the oracle is dead: no flood took anything away")
				}
			})
		})
	}
}
