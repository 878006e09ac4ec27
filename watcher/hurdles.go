package watcher

import (
	"sync/atomic"
	"time"

	"torno/delegation"
)

// lingers is how long a hurdle stands after it was last met: longer than a heartbeat, which comes every 5 seconds, or a listing takes to
// meet it again.
const lingers = 7 * time.Second

// hurdle is something in the way of an outbox that is met again and again by whoever comes along, for as long as it is
// there. It is safe for concurrent use.
type hurdle struct {
	hold *hold
	met  atomic.Int64 // when last, in nanoseconds
}

func (h *hurdle) meet(code delegation.NoticeCode, err error) {
	h.met.Store(time.Now().UnixNano())
	h.hold.begin(code, err)
}

// pass notes that nobody has met it for a while.
func (h *hurdle) pass() {
	if time.Since(time.Unix(0, h.met.Load())) > lingers {
		h.hold.end()
	}
}
