package watcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox/sandboxtest"
)

// look is what an operator is shown of a run's events.
type look struct {
	events []delegation.Event
	end    *control.EventsEnd
}

func (l *look) take(line control.EventLine) error {
	if line.End != nil {
		l.end = line.End
		return nil
	}
	l.events = append(l.events, *line.Event)
	return nil
}

func (l *look) output() (text string) {
	for _, e := range l.events {
		if e.Type == delegation.EventStdout {
			text += string(e.Output())
		}
	}
	return text
}

func (d *desk) look(ref string, q control.EventQuery) *look {
	d.Helper()
	l := &look{}
	d.must(d.operator().Events(d.Context(), ref, q, l.take))
	d.eachOnce(l.events, q.Since)
	if l.end == nil {
		d.Error("the stream has no end")
	}
	return l
}

// eachOnce checks that each number comes once, as an event or in a gap.
func (d *desk) eachOnce(all []delegation.Event, since int64) {
	d.Helper()
	next := since + 1
	for _, e := range all {
		if e.Seq != next {
			d.Errorf("event %d comes, and not %d", e.Seq, next)
		}
		next = e.Seq + 1
		if e.Missing != nil {
			next = e.Missing.Last + 1
		}
	}
}

// known waits until an operator can name a subagent.
func (d *desk) known(id string) {
	d.Helper()
	d.eventually("the run is known", func() bool { _, err := d.operator().Run(d.Context(), id); return err == nil })
}

func (l *look) last() delegation.Event { return l.events[len(l.events)-1] }

func TestEventsAreReplayed(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "lines 3 0.01"})
	d.known("s1")
	followed := d.look("s1", control.EventQuery{Follow: true})
	d.response(a)
	d.remove("request_s1.json") // a parent may do what it likes with its outbox
	all := d.look("s1", control.EventQuery{})
	if text := all.output(); text != "line 1\nline 2\nline 3\n" || followed.output() != text {
		t.Errorf("followed %q, and afterwards %q", followed.output(), text)
	}
	for _, l := range []*look{followed, all} {
		if last := l.last(); last.State != delegation.StateEnded || last.Seq != l.end.Newest || !l.end.Over {
			t.Errorf("it ends with %+v, %+v", last, l.end)
		}
	}
	if rest := d.look("s1", control.EventQuery{Since: all.end.Newest - 1}); len(rest.events) != 1 || rest.last().State != delegation.StateEnded {
		t.Errorf("the last one is %+v", rest.events)
	}
	if none := d.look("s1", control.EventQuery{Since: all.end.Newest, Follow: true}); len(none.events) != 0 || !none.end.Over {
		t.Errorf("behind the end there are %+v, %+v", none.events, none.end)
	}
	ahead := &look{}
	d.must(d.operator().Events(d.Context(), "s1", control.EventQuery{Since: 1000}, ahead.take))
	if len(ahead.events) != 1 || *ahead.last().Missing != (delegation.Missing{First: all.end.Newest + 1, Last: 1000}) {
		t.Errorf("a reader that has more than there is is told %+v", ahead.events)
	}
}

// TestEventsAreTheHosts: what a parent writes into its outbox does not reach an operator.
func TestEventsAreTheHosts(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "lines 3 0.01"})
	d.response(a)
	forged, err := filepath.Glob(filepath.Join(d.outbox, "events_s1.*"))
	d.must(err)
	if len(forged) == 0 {
		t.Fatal("there is no segment to forge")
	}
	for _, path := range forged {
		d.must(os.WriteFile(path, []byte(`{"seq":1,"time":"2026-01-01T00:00:00Z","type":"stdout","text":"forged"}`+"\n"), 0o644))
	}
	if text := d.look("s1", control.EventQuery{}).output(); text != "line 1\nline 2\nline 3\n" {
		t.Errorf("the operator sees %q", text)
	}
}

// TestEventsGoOnAcrossAKill: one log, with numbers that go on, and nothing that is missing without a word.
func TestEventsGoOnAcrossAKill(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "lines 40 0.01"})
	d.started(a)
	d.eventually("it has said something", func() bool { return len(d.look("s1", control.EventQuery{}).events) > 3 })
	before := d.look("s1", control.EventQuery{})
	d.crash()
	d.open()
	after := d.look("s1", control.EventQuery{Since: before.end.Newest, Follow: true})
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if last := after.last(); last.State != delegation.StateEnded || last.Seq <= before.end.Newest {
		t.Errorf("it ends with %+v", last)
	}
	d.look("s1", control.EventQuery{}) // in order, as a whole
	d.growing()
}

// TestALogWithoutItsNoteGoesOn: a power cut may take the note of how far a run had come, and not the log.
func TestALogWithoutItsNoteGoesOn(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "lines 40 0.01"})
	d.started(a)
	d.eventually("it has said something", func() bool { return len(d.look("s1", control.EventQuery{}).events) > 3 })
	d.crash()
	notes, err := filepath.Glob(filepath.Join(d.state, "runs", "*"))
	d.must(err)
	for _, note := range notes {
		d.must(os.Remove(note))
	}
	d.open()
	d.response(a)
	if all := d.look("s1", control.EventQuery{Follow: true}); all.last().State != delegation.StateEnded {
		t.Errorf("it ends with %+v", all.last())
	}
	d.growing()
}

// growing checks that no number is in a log twice, which a reader would not show.
func (d *desk) growing() {
	d.Helper()
	logs, err := filepath.Glob(filepath.Join(d.state, "events", "*.jsonl"))
	d.must(err)
	for _, path := range logs {
		text, err := os.ReadFile(path)
		d.must(err)
		kept, err := delegation.DecodeEvents(text)
		if err != nil || len(kept) == 0 {
			d.Errorf("the log %s has %d events in order: %v", path, len(kept), err)
		}
	}
}

// TestAReaderThatDoesNotReadHoldsNothing: the run goes on past what is kept, another reader sees its end, and the slow one is told what
// it has missed.
func TestAReaderThatDoesNotReadHoldsNothing(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Register("flood", func(_ context.Context, p sandboxtest.ProgramIO) int {
		for n := range 600 {
			fmt.Fprintln(p.Stdout, n, string(bytes.Repeat([]byte("x"), 16<<10)))
		}
		return 0
	})
	a := d.submit(ask{id: "s1", task: "flood"})
	d.known("s1")
	stuck, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow := &look{}
	go func() {
		ended <- d.operator().Events(d.Context(), "s1", control.EventQuery{Follow: true}, func(l control.EventLine) error {
			if len(slow.events) == 0 && l.Event != nil {
				close(stuck)
				<-free
			}
			return slow.take(l)
		})
	}()
	select {
	case <-stuck:
	case err := <-ended:
		d.Fatal("the reader has ended with", err)
	}
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if quick := d.look("s1", control.EventQuery{Follow: true}); !quick.end.Over {
		t.Errorf("the other reader's end is %+v", quick.end)
	}
	close(free)
	d.must(<-ended)
	d.eachOnce(slow.events, 0)
	if last := slow.last(); last.State != delegation.StateEnded {
		t.Errorf("the slow reader's last event is %+v", last)
	}
}

func TestARunWithoutEventsSaysSo(t *testing.T) {
	d := newDesk(t, nil)
	d.response(d.submit(ask{id: "s1", task: "echo", workspace: "/etc"}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, follow := range []bool{false, true} {
		err := d.operator().Events(ctx, "s1", control.EventQuery{Follow: follow}, (&look{}).take)
		if !errors.Is(err, control.ErrNoEvents) {
			t.Errorf("a refused run ends with %v", err)
		}
	}
	if err := d.operator().Events(t.Context(), "nobody", control.EventQuery{}, (&look{}).take); !errors.Is(err, control.ErrNoRun) {
		t.Error(err)
	}
}
