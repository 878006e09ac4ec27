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
	moment boot.Moment // since the boot; decides wherever it is known
	clock  time.Time   // what the clock said then, for sandboxes that tell of their end by that alone
}

func releaseNow() release { return release{boot.Now(), time.Now().Round(0)} }

// releaseOf is the release of a run of an earlier watcher. An earlier version noted only the clock.
func releaseOf(record journal.Run) release {
	if !record.ReleasedIn.IsZero() {
		return release{record.ReleasedIn, record.Released}
	}
	ago := max(time.Since(record.Released), 0)
	return release{boot.Now().Add(-ago), record.Released}
}

// timeLeft is how much of its time a run has left. The time for which it waits for approvals does not count. A run of another boot has none: its sandbox ended with that boot.
func (r *runner) timeLeft() time.Duration {
	passed, known := r.release.moment.Since()
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
	passed, known := rel.moment.Since()
	if !known || exit.FinishedAt.IsZero() {
		return nil
	}
	byThen := exit.FinishedAt.Round(0).Sub(rel.clock)
	byNow := passed - time.Now().Round(0).Sub(exit.FinishedAt.Round(0))
	for _, after := range []time.Duration{byThen, byNow} {
		if after > -inaccurate && after < passed+inaccurate {
			ends = append(ends, after)
		}
	}
	return ends
}
