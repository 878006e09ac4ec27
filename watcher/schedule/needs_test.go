package schedule

import "testing"

// askNeedy admits a run that needs something beside a slot.
func (q *queue) askNeedy(subagent string) *silent {
	q.Helper()
	r := q.run(subagent)
	r.Needs = true
	if refusal := q.admit(&r.Ticket); refusal != nil {
		q.Fatalf("%s is refused: %s", subagent, refusal.Text)
	}
	return r
}

func (q *queue) has(what string, running int, launched ...*silent) {
	q.Helper()
	if q.running != running || q.lanes[0].running != running || len(q.launched) != len(launched) {
		q.Fatalf("%s: %d run, %d in the lane, and %d were launched; want %d and %d", what, q.running, q.lanes[0].running, len(q.launched), running, len(launched))
	}
	for i, r := range launched {
		if q.launched[i] != r {
			q.Fatalf("%s: %s was launched in the place of %s", what, q.launched[i].Subject.Subagent, r.Subject.Subagent)
		}
	}
}

// inTest runs the loop for the calls that are made meanwhile.
func (q *queue) inTest(calls func()) {
	q.Helper()
	done := make(chan struct{})
	go func() { defer close(done); calls() }()
	for {
		select {
		case f := <-q.todo:
			f()
		case <-done:
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestARunThatWaitsOutsideHoldsNoOtherUp: it has no slot, no other one with its needs is launched to wait too, and those
// without needs go on. When it can go on it is before all that are in the queue, and never one too many.
func TestARunThatWaitsOutsideHoldsNoOtherUp(t *testing.T) {
	q, ctx := newQueue(t, 1), t.Context()
	waits := q.askNeedy("waits")
	needy := q.askNeedy("needy")
	plain, later := q.ask("plain"), q.ask("later")
	q.has("at first", 1, waits)
	q.inTest(func() { q.GiveBack(ctx, &waits.Ticket) })
	q.has("while it waits", 1, waits, plain)
	q.counts("while it waits", 1, 3)
	var taken <-chan struct{}
	q.inTest(func() { taken = q.TakeBack(ctx, &waits.Ticket) })
	if isClosed(taken) {
		t.Error("it has a slot, and there is only one")
	}
	q.counts("while it waits for a slot", 1, 3)
	q.endRun(plain)
	q.has("when it is back", 1, waits, plain)
	if !isClosed(taken) || waits.state != inSlot {
		t.Error("another one was before it")
	}
	q.endRun(waits)
	q.has("when it is over", 1, waits, plain, needy)
	q.endRun(needy)
	q.has("at last", 1, waits, plain, needy, later)
}

// TestARunThatIsEndedOutside leaves nothing behind that others wait for.
func TestARunThatIsEndedOutside(t *testing.T) {
	for name, wantsBack := range map[string]bool{"while it waits": false, "while it waits for a slot": true} {
		t.Run(name, func(t *testing.T) {
			q, ctx := newQueue(t, 1), t.Context()
			waits := q.askNeedy("waits")
			needy, plain := q.askNeedy("needy"), q.ask("plain")
			q.inTest(func() {
				q.GiveBack(ctx, &waits.Ticket)
				if wantsBack {
					q.TakeBack(ctx, &waits.Ticket)
				}
				q.ComeBack(ctx, &waits.Ticket)
			})
			q.has("when it is to end", 2, waits, plain)
			q.inTest(func() {
				q.Finished(ctx, &waits.Ticket)
				q.Finished(ctx, &plain.Ticket)
			})
			q.has("when both are over", 1, waits, plain, needy)
			if q.waiting != 0 || len(q.back) != 0 {
				t.Errorf("%d wait still, and %d want their slots", q.waiting, len(q.back))
			}
		})
	}
}

// counts holds what clients are told against what is.
func (q *queue) counts(when string, running, queued int) {
	q.Helper()
	q.inTest(func() {
		if r, w := q.Load(q.Context(), "main"); r != running || w != queued {
			q.Errorf("%s %d run and %d wait, not %d and %d", when, r, w, running, queued)
		}
	})
}
