package schedule

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// queue is a schedule whose loop is the test itself, and what it has launched.
type queue struct {
	*Schedule
	testing.TB
	launched []*silent
}

// silent is a run that does nothing.
type silent struct {
	Ticket
	queue     *queue
	cause     delegation.Reason
	dismissed delegation.Reason
}

func (r *silent) Launch()                          { r.queue.launched = append(r.queue.launched, r) }
func (r *silent) Dismiss(reason delegation.Reason) { r.dismissed = reason }
func (r *silent) End(reason delegation.Reason)     { r.cause = reason }
func (r *silent) EndAsked() delegation.Reason      { return r.cause }
func (r *silent) Show(int)                         {}

func newQueue(t testing.TB, capacity int) *queue {
	return &queue{TB: t, Schedule: New(capacity, []Lane{{Name: "main", MaxRunning: capacity, Queue: 1 << 20, QueueBusy: true}})}
}

// run is a run of a subagent in a directory, with those above it.
func (q *queue) run(subagent string, above ...uint64) *silent {
	q.Helper()
	id, err := delegation.ParseSubagentID(subagent)
	if err != nil {
		q.Fatal(err)
	}
	r := &silent{queue: q, Ticket: Ticket{Lane: "main", Subject: Subject{Outbox: "main", Subagent: id}}}
	r.Run = r
	for _, inode := range above {
		r.Above = append(r.Above, sandbox.Directory{Device: 1, Inode: inode})
	}
	return r
}

// ask admits a run.
func (q *queue) ask(subagent string, above ...uint64) *silent {
	q.Helper()
	r := q.run(subagent, above...)
	if refusal := q.admit(&r.Ticket); refusal != nil {
		q.Fatalf("%s is refused: %s", subagent, refusal.Text)
	}
	return r
}

// end ends a run that was launched.
func (q *queue) endRun(r *silent) {
	q.leaveSlot(&r.Ticket, unscheduled)
	q.forget(&r.Ticket)
	q.dispatch()
}

// TestAWaiterIsNotOvertaken: one run waits for a whole tree, while new ones come for directories in it without an end.
func TestAWaiterIsNotOvertaken(t *testing.T) {
	q := newQueue(t, 4)
	running := []*silent{q.ask("a", 11, 1), q.ask("b", 12, 1)}
	waits := q.ask("waits", 1)
	for i := range 100 {
		running = append(running, q.ask(fmt.Sprint("late", i), uint64(100+i), 1))
		if waits.state == inSlot {
			break
		}
		next := running[0]
		running = running[1:]
		if next.state != inSlot {
			t.Fatalf("the waiter waits for a later run, after %d of them", i)
		}
		q.endRun(next)
	}
	if waits.state != inSlot {
		t.Error("the waiter was overtaken a hundred times")
	}
	for _, r := range running {
		if r.state == inSlot {
			t.Errorf("%s runs in a directory that another run has", r.Subject.Subagent)
		}
	}
}

// TestALongQueueForOneWorkspaceIsCheap counts what thousands of requests for one workspace cost the scheduler: the same for
// each, however many wait.
func TestALongQueueForOneWorkspaceIsCheap(t *testing.T) {
	cost := func(requests int) float64 {
		q := newQueue(t, 4)
		for i := range requests {
			q.ask(fmt.Sprint("s", i), 10, 2, 1)
		}
		for i := range requests {
			if len(q.launched) != i+1 {
				t.Fatalf("%d of %d were launched when %d are over", len(q.launched), requests, i)
			}
			if want := fmt.Sprint("s", i); q.launched[i].Subject.Subagent.String() != want {
				t.Fatalf("%s goes before %s", q.launched[i].Subject.Subagent, want)
			}
			q.endRun(q.launched[i])
		}
		if len(q.lines.at) != 0 || len(q.lanes[0].ready) != 0 || q.lanes[0].queue.Len() != 0 {
			t.Errorf("%d lines, %d ready runs and %d in the queue are left", len(q.lines.at), len(q.lanes[0].ready), q.lanes[0].queue.Len())
		}
		return float64(q.lines.steps) / float64(requests)
	}
	few, many := cost(20), cost(2000)
	if many > few*1.2 {
		t.Errorf("each of 20 requests costs %.1f steps, each of 2,000 costs %.1f", few, many)
	}
	t.Logf("steps for each request: %.1f of 20, %.1f of 2,000", few, many)
}

// TestLinesAgainstAllPairs plays at random and compares with the plain rule: a run is let through when no earlier one of its
// subagent, or in an equal or nested directory, is there.
func TestLinesAgainstAllPairs(t *testing.T) {
	meet := func(a, b *silent) bool {
		if a.Subject == b.Subject {
			return true
		}
		in := func(x, y *silent) bool {
			for _, dir := range y.Above {
				if dir == x.Above[0] {
					return true
				}
			}
			return false
		}
		return in(a, b) || in(b, a)
	}
	for seed := range uint64(200) {
		state := seed*2654435761 + 1
		dice := func(n uint64) uint64 { state = state*6364136223846793005 + 1442695040888963407; return state >> 33 % n }
		q := newQueue(t, 1<<20)
		q.running = 1 << 20 // nothing starts: only the lines count
		var all []*silent
		for range 60 {
			if len(all) > 0 && dice(3) == 0 {
				i := dice(uint64(len(all)))
				q.withdraw(&all[i].Ticket)
				all = append(all[:i], all[i+1:]...)
			} else {
				path := []uint64{1}
				for range dice(4) {
					path = append([]uint64{path[0]*3 + dice(3)}, path...)
				}
				all = append(all, q.ask(fmt.Sprint("s", dice(20)), path...))
			}
			for i, r := range all {
				blocked := false
				for _, earlier := range all[:i] {
					blocked = blocked || meet(earlier, r)
				}
				// No run overtakes a waiting run: a run behind it waits as well.
				if !blocked && r.reservation.blocked > 0 || blocked && r.reservation.blocked == 0 {
					t.Fatalf("seed %d: run %d of %d is blocked %d times, want blocked: %t", seed, i, len(all), r.reservation.blocked, blocked)
				}
				if ready := r.rank >= 0; ready == blocked {
					t.Fatalf("seed %d: run %d is ready: %t, blocked: %t", seed, i, ready, blocked)
				}
			}
		}
	}
}

// TestWhatWasAdmittedStaysAdmitted: an earlier watcher admitted the run. Meanwhile other runs took its place in the queue, or its directory.
func TestWhatWasAdmittedStaysAdmitted(t *testing.T) {
	q := &queue{TB: t, Schedule: New(1, []Lane{{Name: "main", MaxRunning: 1, Queue: 1}})}
	first := q.ask("first", 1)
	second := q.ask("second", 2)
	for subagent, directory := range map[string]uint64{"late": 3, "busy": 1} {
		if refusal := q.admit(&q.run(subagent, directory).Ticket); refusal == nil {
			t.Errorf("%s is taken anew", subagent)
		}
		again := q.run(subagent, directory)
		again.Admitted = true
		if refusal := q.admit(&again.Ticket); refusal != nil || again.state != inQueue {
			t.Errorf("%s: %+v, and its state is %d", subagent, refusal, again.state)
		}
	}
	q.endRun(first)
	if second.state != inSlot {
		t.Error("the next run does not start")
	}
}

// TestARunThatIsAnsweredIsInNobodysWay, whether it had a slot or was set aside: who has its answer asks for its directory and its place.
func TestARunThatIsAnsweredIsInNobodysWay(t *testing.T) {
	for _, aside := range []bool{false, true} {
		places := map[bool]int{false: 0, true: 1}[aside] // in the queue; who waits for a slot that is about to be free needs none
		q, ctx := &queue{TB: t, Schedule: New(1, []Lane{{Name: "main", MaxRunning: 1, Queue: places}})}, t.Context()
		answered, after := q.ask("answered", 1), q.run("after", 1)
		q.inTest(func() {
			if aside {
				q.SetAside(ctx, &answered.Ticket)
			}
			q.Exited(ctx, &answered.Ticket)
			if refusal := q.Submit(ctx, &after.Ticket); refusal != nil {
				t.Errorf("set aside: %t: %s", aside, refusal.Text)
			}
		})
		if len(q.launched) != 1 {
			t.Errorf("set aside: %t: two runs are in one directory", aside)
		}
		q.inTest(func() {
			if q.Submit(ctx, &q.run("toomany", 2, 1).Ticket) == nil {
				t.Errorf("set aside: %t: a second run waits for the same place", aside)
			}
			q.Finished(ctx, &answered.Ticket)
		})
		q.has("after it", 1, answered, after)
	}
}

// TestTheNextAttemptOfARunThatIsToEndIsDismissed, whenever its end was asked for.
func TestTheNextAttemptOfARunThatIsToEndIsDismissed(t *testing.T) {
	q, ctx := newQueue(t, 1), t.Context()
	lost, next := q.ask("a", 10, 1), q.run("a", 10, 1)
	lost.End(delegation.ReasonOperator)
	q.inTest(func() {
		q.GoFirst(ctx, &lost.Ticket, &next.Ticket)
		q.Finished(ctx, &lost.Ticket)
	})
	if next.dismissed != delegation.ReasonOperator {
		t.Errorf("the next attempt was dismissed because of %q", next.dismissed)
	}
	again, third := q.ask("c", 20, 1), q.run("c", 20, 1)
	q.inTest(func() {
		q.GoFirst(ctx, &again.Ticket, &third.Ticket)
		q.Stop(ctx, &again.Ticket, delegation.ReasonSuperseded) // who asks knows of the earlier attempt only
		q.Finished(ctx, &again.Ticket)
	})
	if third.dismissed != delegation.ReasonSuperseded {
		t.Errorf("an attempt that had just been handed on to was dismissed because of %q", third.dismissed)
	}
	after := q.ask("b", 10, 1) // neither slot nor directory is taken any more
	q.has("when all are over", 1, lost, again, after)
}

// leaver is a run whose launch has the watcher stop working.
type leaver struct {
	*silent
	launch func()
}

func (l *leaver) Launch() { l.launch() }

// TestARunThatIsLaunchedIsNotRefused, although the watcher stops working before it hears of that: one goroutine would
// carry the run while another one ends it.
func TestARunThatIsLaunchedIsNotRefused(t *testing.T) {
	q := newQueue(t, 1)
	ctx, end := context.WithCancel(t.Context())
	told := make(chan struct{})
	r := &leaver{silent: q.run("a", 10, 1), launch: func() { end(); <-told }}
	r.Run = r
	looping, stop := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { q.Loop(looping) })
	defer func() { stop(); loop.Wait() }()
	if refusal := q.Submit(ctx, &r.Ticket); refusal != nil {
		t.Errorf("it is refused: %s", refusal.Text)
	}
	close(told)
}
