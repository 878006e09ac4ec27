package outbox

import (
	"context"
	"time"

	"torno/internal/journal"
	"torno/watcher/limit"
)

// costs is what looking at an outbox costs, measured by the thread of its scan. Events rest in proportion to their work, and
// listings wait in proportion to theirs.
type costs struct {
	meters    limit.Meters
	written   journal.Bill // what the journal's writer has done for the scan
	share     limit.Share  // for events: a parent makes them faster than they can be looked at
	elsewhere limit.Effort // of the listing that is under way: what was spent on something else than listing
	listing   time.Duration
}

func newCosts() *costs {
	c := &costs{share: limit.Share{Of: eventShare, Burst: eventBurst, Longest: limit.LongestRest}}
	c.meters.Others = c.written.Used
	return c
}

// charge has what the journal's writer does under ctx charged to the scan.
func (c *costs) charge(ctx context.Context) context.Context { return journal.Charge(ctx, &c.written) }

// exempt takes what a meter shows off the listing that is under way.
func (c *costs) exempt(m limit.Meter) { c.elsewhere = c.elsewhere.Plus(m.SoFar()) }

// calmly does what a parent can bring about as often as it likes, and rests in proportion. The listing that is under way does
// not pay for the rest.
func (c *costs) calmly(ctx context.Context, do func()) {
	doing := c.meters.Start()
	do()
	done := doing.SoFar()
	defer c.exempt(c.meters.Start())
	c.share.Pause(ctx, done.Work())
}

// startListing begins to measure a listing.
func (c *costs) startListing() limit.Meter {
	c.elsewhere = limit.Effort{}
	return c.meters.Start()
}

// endListing ends a listing, and says how long to wait before the next one.
func (c *costs) endListing(m limit.Meter) time.Duration {
	c.listing = m.SoFar().Minus(c.elsewhere).Work()
	return pauseAfter(c.listing)
}

// restFromListing rests for the last listing: a parent can bring listings about by overflows of the event queue.
func (c *costs) restFromListing(ctx context.Context) { c.share.Pause(ctx, c.listing) }

// pauseAfter is the time from a listing of some cost to the next one.
func pauseAfter(cost time.Duration) time.Duration {
	if cost > listAtMost/listShare {
		return listAtMost
	}
	return max(listAtLeast, listShare*cost)
}
