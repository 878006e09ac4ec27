package delegation

import (
	"sync/atomic"
	"time"
)

// fsClock is how far the clock of a file system is behind ours, as the last file that was written there showed.
type fsClock struct{ measured atomic.Pointer[time.Duration] }

func (c *fsClock) note(behind time.Duration) { c.measured.Store(&behind) }

// behind is never less than zero: a clock ahead of ours makes stamps look younger than they are, which is safe.
func (c *fsClock) behind() (behind time.Duration, known bool) {
	last := c.measured.Load()
	if last == nil {
		return 0, false
	}
	return max(*last, 0), true
}
