package run

import (
	"slices"
	"time"

	"torno/internal/boot"
	"torno/internal/journal"
	"torno/sandbox"
)

// release is the moment when a run's agent got leave to run. From then on its time counts, even while the machine
// sleeps.
type release struct {
	clock  boot.Clock
	moment boot.Moment // time since the boot; it decides wherever it is known
	wall   time.Time   // the wall clock's time then, for sandboxes whose end is known only by the wall clock
}

func releaseNow(clock boot.Clock) release { return release{clock, clock.Now(), time.Now().Round(0)} }

// releaseOf returns the release of a run from an earlier watcher.
func releaseOf(record journal.Run, clock boot.Clock) release {
	return release{clock, record.ReleasedIn, record.Released}
}

// passed returns how long ago the release was. That is not known before the release, nor after another boot.
func (rel release) passed() (passed time.Duration, known bool) {
	if rel.moment.IsZero() {
		return 0, false
	}
	return rel.clock.Since(rel.moment)
}

// timeLeft returns how much of its time the run has left. Time spent waiting for approvals does not count. A run from
// another boot has no time left: its sandbox ended with that boot.
func (r *runner) timeLeft() time.Duration {
	passed, known := r.release.passed()
	if !known {
		return 0
	}
	return max(r.spec.Timeout+r.desk.Paused(passed)-passed, 0)
}

// overran reports whether the recorded end of a run lies after its time, however the clocks are read.
func (rel release) overran(timeout time.Duration, exit sandbox.Exit) bool {
	ends := rel.ends(exit)
	return len(ends) > 0 && slices.Min(ends) >= timeout
}

// endedInTime reports whether the recorded end of a run lies within its time, however the clocks are read.
func (rel release) endedInTime(timeout time.Duration, exit sandbox.Exit) bool {
	ends := rel.ends(exit)
	return len(ends) > 0 && slices.Max(ends) < timeout
}

// inaccurate bounds how far the clock and the time since the boot drift apart without anybody setting the clock.
const inaccurate = time.Second

// ends returns the times after the release at which a sandbox may have ended. If only the wall clock tells the end, it
// can be read by the clock as it was at the release, and by the clock as it is now. If somebody has set the clock
// since, the two readings differ. A reading before the release or after the present is wrong, and is left out.
func (rel release) ends(exit sandbox.Exit) (ends []time.Duration) {
	if after, known := exit.FinishedIn.Sub(rel.moment); known {
		return []time.Duration{after}
	}
	passed, known := rel.passed()
	if !known || exit.FinishedAt.IsZero() {
		return nil
	}
	byThen := exit.FinishedAt.Round(0).Sub(rel.wall)
	byNow := passed - time.Now().Round(0).Sub(exit.FinishedAt.Round(0))
	for _, after := range []time.Duration{byThen, byNow} {
		if after > -inaccurate && after < passed+inaccurate {
			ends = append(ends, after)
		}
	}
	return ends
}
