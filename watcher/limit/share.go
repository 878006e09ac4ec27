package limit

import (
	"context"
	"time"
)

// LongestRest bounds a single rest during work that clients wait for. The remainder is taken after the next pieces of
// work.
const LongestRest = time.Second

// Share keeps work that is not urgent to a share of a core: after each piece it rests in proportion to the time that
// the piece took. Up to Burst of rest may be owed, so that a little work is not slowed down at all.
type Share struct {
	Of      int // the work costs at most 1/Of of a core
	Burst   time.Duration
	Longest time.Duration // bound of one rest; 0 for no bound

	until time.Time // end of the rest for all earlier work
}

// Pause rests for work that was done just now, unless ctx is done.
func (p *Share) Pause(ctx context.Context, work time.Duration) {
	now := time.Now()
	if begin := now.Add(-work); p.until.Before(begin) {
		p.until = begin
	}
	p.until = p.until.Add(work * time.Duration(p.Of))
	rest := p.until.Sub(now) - p.Burst
	if p.Longest > 0 {
		rest = min(rest, p.Longest)
	}
	if rest <= 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
