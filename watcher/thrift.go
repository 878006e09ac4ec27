package watcher

import (
	"context"
	"time"
)

// thrift keeps work that is not urgent to a share of a core: after each piece it rests in proportion to what it took. Up
// to burst of rest may be owed, so that a little work is not slowed down at all.
type thrift struct {
	share int
	burst time.Duration

	until time.Time // when the rest for all earlier work is over
}

// spent rests for the work since begin, unless ctx is done.
func (p *thrift) spent(ctx context.Context, begin time.Time) {
	now := time.Now()
	if p.until.Before(begin) {
		p.until = begin
	}
	p.until = p.until.Add(now.Sub(begin) * time.Duration(p.share))
	rest := p.until.Sub(now) - p.burst
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
