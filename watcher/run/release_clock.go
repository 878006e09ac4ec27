package run

import (
	"slices"
	"time"

	"torno/internal/boot"
	"torno/internal/journal"
	"torno/sandbox"
)

// release is when a run's agent was allowed to run. From then on its time counts, also while the machine sleeps.
type release struct {
	clock  boot.Clock
	moment boot.Moment // since the boot; decides wherever it is known
	wall   time.Time   // what the wall clock said then, for sandboxes that tell of their end by that alone
}

func releaseNow(clock boot.Clock) release { return release{clock, clock.Now(), time.Now().Round(0)} }

// releaseOf is the release of a run of an earlier watcher.
func releaseOf(record journal.Run, clock boot.Clock) release {
	return release{clock, record.ReleasedIn, record.Released}
}

// passed returns how long ago the release was. It is not known before the release, nor behind another boot.
func (rel release) passed() (passed time.Duration, known bool) {
	if rel.moment.IsZero() {
		return 0, false
	}
	return rel.clock.Since(rel.moment)
}

// timeLeft is how much of its time a run has left. The time for which it waits for approvals does not count. A run of another boot has none: its sandbox ended with that boot.
func (r *runner) timeLeft() time.Duration {
	passed, known := r.release.passed()
	if !known {
		return 0
	}
	return max(r.spec.Timeout+r.desk.Paused(passed)-passed, 0)
}

// overran says that the recorded end of a run lies after its time.
func (rel release) overran(timeout time.Duration, exit sandbox.Exit) bool {
	ends := rel.ends(exit)
	return len(ends) > 0 && slices.Min(ends) >= timeout
}

// endedInTime says that the recorded end of a run lies within its time.
func (rel release) endedInTime(timeout time.Duration, exit sandbox.Exit) bool {
	ends := rel.ends(exit)
	return len(ends) > 0 && slices.Max(ends) < timeout
}

// inaccurate is how far the clock and the time since the boot may drift apart without anybody setting the clock.
const inaccurate = time.Second

// ends are the times after the release at which a sandbox may have ended. Where only the clock tells, the end can be read by
// the clock as it was at the release and by the clock as it is now. If somebody has set the clock since, both differ; a
// reading before the release or after the present is then known to be wrong.
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
