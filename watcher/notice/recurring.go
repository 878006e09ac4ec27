package notice

import (
	"sync/atomic"
	"time"

	"torno/delegation"
)

// Lingers is how long trouble stands after it was last met. If the trouble lasted, a heartbeat (every 5 seconds) or a
// listing would have met it again by then.
const Lingers = 7 * time.Second

// Recurring is trouble that is met again and again while it lasts, but gives no sign when it is over. It is safe for
// concurrent use.
type Recurring struct {
	flag *Flag
	met  atomic.Int64 // the last time, in nanoseconds
}

// Recurring returns a Recurring for trouble of an outbox.
func (n *Board) Recurring(outbox string) *Recurring { return &Recurring{flag: n.Flag(outbox)} }

// Raise reports that the trouble is there.
func (h *Recurring) Raise(code delegation.NoticeCode, err error) {
	h.met.Store(time.Now().UnixNano())
	h.flag.Raise(code, err)
}

// LowerIfOld takes the trouble back if it was not met for a while.
func (h *Recurring) LowerIfOld() {
	if time.Since(time.Unix(0, h.met.Load())) > Lingers {
		h.flag.Lower()
	}
}
