package outbox

import (
	"context"
	"time"

	"torno/internal/journal"
	"torno/watcher/limit"
)

// costs measures the work of looking at an outbox, by the thread of its scan. After an event the scan rests in
// proportion to the event's work; before the next listing it waits in proportion to the last listing's work.
type costs struct {
	meters    limit.Meters
	written   journal.Bill // work of the journal's writer for the scan
	share     limit.Share  // for events, because a parent can make them faster than the scan can handle them
	elsewhere limit.Effort // work done during the present listing that is not listing
	listing   time.Duration
}

func newCosts() *costs {
	c := &costs{share: limit.Share{Of: eventShare, Burst: eventBurst, Longest: limit.LongestRest}}
	c.meters.Others = c.written.Used
	return c
}

// charge returns a ctx under which the work of the journal's writer is charged to the scan.
func (c *costs) charge(ctx context.Context) context.Context { return journal.Charge(ctx, &c.written) }

// exempt subtracts the effort that m shows from the present listing.
func (c *costs) exempt(m limit.Meter) { c.elsewhere = c.elsewhere.Plus(m.SoFar()) }

// calmly does work that a parent can cause as often as it likes, then rests in proportion. The rest is not charged to
// the present listing.
func (c *costs) calmly(ctx context.Context, do func()) {
	doing := c.meters.Start()
	do()
	done := doing.SoFar()
	defer c.exempt(c.meters.Start())
	c.share.Pause(ctx, done.Work())
}

func (c *costs) startListing() limit.Meter {
	c.elsewhere = limit.Effort{}
	return c.meters.Start()
}

// endListing ends the measuring and returns the time until the next listing.
func (c *costs) endListing(m limit.Meter) time.Duration {
	c.listing = m.SoFar().Minus(c.elsewhere).Work()
	return pauseAfter(c.listing)
}

// restFromListing rests for the last listing, because a parent can cause listings by overflowing the event queue.
func (c *costs) restFromListing(ctx context.Context) { c.share.Pause(ctx, c.listing) }

// pauseAfter returns the time until the next listing, given the cost of the last.
func pauseAfter(cost time.Duration) time.Duration {
	if cost > listAtMost/listShare {
		return listAtMost
	}
	return max(listAtLeast, listShare*cost)
}
