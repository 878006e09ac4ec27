package delegation

import (
	"sync/atomic"
	"time"
)

// fsClock remembers how far a file system's clock is behind ours, measured on the last file that we wrote there.
type fsClock struct{ measured atomic.Pointer[time.Duration] }

func (c *fsClock) note(behind time.Duration) { c.measured.Store(&behind) }

// behind never returns less than zero. If that clock is ahead of ours, stamps look younger than they are, which is
// safe.
func (c *fsClock) behind() (behind time.Duration, known bool) {
	last := c.measured.Load()
	if last == nil {
		return 0, false
	}
	return max(*last, 0), true
}
