package notice

import (
	"sync/atomic"
	"time"

	"torno/delegation"
)

// Lingers is how long trouble stands after it was last met: longer than a heartbeat, which comes every 5 seconds, or a listing takes to
// meet it again.
const Lingers = 7 * time.Second

// Recurring is trouble that is met again and again for as long as it is there, and of which nothing tells that it is over. It is safe for
// concurrent use.
type Recurring struct {
	flag *Flag
	met  atomic.Int64 // when last, in nanoseconds
}

// Recurring is for trouble of an outbox.
func (n *Board) Recurring(outbox string) *Recurring { return &Recurring{flag: n.Flag(outbox)} }

// Raise says that the trouble is there.
func (h *Recurring) Raise(code delegation.NoticeCode, err error) {
	h.met.Store(time.Now().UnixNano())
	h.flag.Raise(code, err)
}

// LowerIfOld takes the trouble back where it has not been met for a while.
func (h *Recurring) LowerIfOld() {
	if time.Since(time.Unix(0, h.met.Load())) > Lingers {
		h.flag.Lower()
	}
}
