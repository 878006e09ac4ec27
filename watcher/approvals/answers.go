package approvals

import (
	"context"
	"slices"
	"time"

	"torno/internal/agent"
	"torno/internal/approval"
)

// Ready returns a channel that has a value when Due may have something.
func (d *Desk) Ready() <-chan struct{} { return d.ready }

// Again makes decisions due once more that the agent has not taken: an attachment has broken, or they may be lost.
func (d *Desk) Again() {
	d.mu.Lock()
	clear(d.sent)
	d.told = 0
	d.mu.Unlock()
	notify(d.ready)
}

// Takes reports whether the desk still takes questions.
func (d *Desk) Takes() bool { return !d.closed.Load() }

// Due returns the decisions that are to be sent now, each once.
func (d *Desk) Due() (all []agent.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = slices.Clone(d.denied[d.told:])
	d.told = len(d.denied)
	for _, a := range d.all {
		if a.Outcome == "" || a.Outcome == approval.Withdrawn || a.Taken || d.sent[a.Number] {
			continue
		}
		d.sent[a.Number] = true
		all = append(all, agent.Decision{
			Ask: a.Ask, Allow: a.Outcome == approval.Granted, Digest: a.Digest, Policy: a.Binding.Policy, Run: d.Run, Why: a.Why,
		})
	}
	return all
}

// glance is how often the desk looks at the clock: timers stand still while the machine sleeps.
const glance = 5 * time.Second

// Expire denies questions that have waited too long, until ctx is done.
func (d *Desk) Expire(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(min(d.expire(), glance))
		case <-ctx.Done():
			return
		}
	}
}

// expire denies the questions whose time is over, and returns when to look again.
func (d *Desk) expire() (next time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, known := d.now()
	next = time.Second // a question may come at any time
	for i := range d.all {
		a := &d.all[i]
		switch {
		case a.Outcome != "":
		case !known || now >= a.Expires:
			d.end(a, approval.Declined, approval.ByTime, "no decision came in time")
		default:
			next = min(next, a.Expires-now)
		}
	}
	return max(next, time.Millisecond)
}

// Close ends the desk with its run. It returns how many questions came after the end and were dropped.
func (d *Desk) Close() (late int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.all {
		d.end(&d.all[i], approval.Declined, approval.ByEnd, "the run has ended")
	}
	d.closed.Store(true)
	return d.late
}

// Shut stops the desk from taking questions: the run is at its end. It does not wait for a question that the journal is
// just noting.
func (d *Desk) Shut() { d.closed.Store(true) }

// PausedSoFar returns how long the run's clock has stood still up to now.
func (d *Desk) PausedSoFar() time.Duration { return d.Paused(d.waits.now()) }

// Paused returns how long the run's clock has stood still, up to a time since the run's release.
func (d *Desk) Paused(now time.Duration) time.Duration { return d.waits.paused(d.Pause, now) }
