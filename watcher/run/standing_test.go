package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
)

// shown is a client that keeps what it is told.
type shown struct {
	Client
	live   *output.Live
	states []delegation.RunStatus
}

func (s *shown) Live() *output.Live               { return s.live }
func (s *shown) Tell(status delegation.RunStatus) { s.states = append(s.states, status) }

// TestEveryViewSeesEveryChange: the status file, the live events and a reader that waits.
func TestEveryViewSeesEveryChange(t *testing.T) {
	var events []delegation.Event
	client := &shown{live: &output.Live{
		Publish: func(_ int, more []delegation.Event) error { events = append(events, more...); return nil },
		Report:  func(err error) { t.Error(err) },
	}}
	r := runsOf(t).newRun(Request{}, sandbox.Spec{}, client)
	client.live.Note = nil // no notes are kept here

	r.Show(3)
	now, changed := r.Watch()
	if now.Position != 3 || now.Phase != Queued {
		t.Errorf("it stands at %+v", now)
	}
	if err := errors.Join(r.enter(Bound, ""), r.enter(Created, "")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("a reader that waits is not woken")
	}
	r.change(func(s *Standing) { s.Stranded = "it is gone" })
	r.change(func(s *Standing) { s.Stranded = "" })
	if err := r.enter(Ended, delegation.ReasonOperator); err != nil {
		t.Fatal(err)
	}
	client.live.Flush()

	var told []delegation.State
	for _, status := range client.states {
		told = append(told, status.State)
	}
	if want := []delegation.State{"queued", "starting", "starting", "starting", "ended"}; !slices.Equal(told, want) {
		t.Errorf("the client is told %v, and not %v", told, want)
	}
	if s := client.states; s[0].Position != 3 || s[1].Position != 0 || s[2].Detail != strandedDetail || s[3].Detail != "" || s[4].Reason != delegation.ReasonOperator {
		t.Errorf("the client is told %+v", s)
	}
	if len(events) != 2 || events[0].State != delegation.StateStarting || events[1].Reason != delegation.ReasonOperator {
		t.Errorf("the events are %+v", events)
	}
}

// TestAMoveThatFailedAndHappenedIsShown: the call fails, and the journal has the move all the same.
func TestAMoveThatFailedAndHappenedIsShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	runs := runsOf(t)
	runs.Journal = j
	client := &shown{live: &output.Live{}}
	subagent, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	request, err := delegation.ParseRequestID("r1")
	if err != nil {
		t.Fatal(err)
	}
	key := sandbox.RunKey{Outbox: "main", Subagent: subagent, Request: request, Attempt: 1}
	r := runs.newRun(Request{Key: key}, sandbox.Spec{}, client)
	if _, err := j.Begin(t.Context(), journal.Run{Key: key.Hash(), Outbox: "main", Subagent: subagent, Request: request, Attempt: 1, State: delegation.StateQueued}); err != nil {
		t.Fatal(err)
	}
	if err := j.Move(t.Context(), key.Hash(), delegation.StateQueued, delegation.StateStarting, journal.Change{}); err != nil {
		t.Fatal(err) // what the call did that failed
	}
	if err := r.tryMove(delegation.StateStarting, journal.Change{}); err != nil {
		t.Fatal(err)
	}
	if len(client.states) != 1 || client.states[0].State != delegation.StateStarting || r.Standing().Phase != Bound {
		t.Errorf("the client is told %+v", client.states)
	}
	if err := r.tryMove(delegation.StateQueued, journal.Change{}); err == nil || errors.Is(err, journal.ErrUnknown) {
		t.Error("a move back is", err)
	}
}
