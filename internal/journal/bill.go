package journal

import (
	"context"
	"sync/atomic"
	"time"

	"torno/internal/thread"
)

// Bill adds up the processor time that the journal's writer has used for one caller's writes. It does not include
// reading, which happens on the caller's own thread.
type Bill struct{ used atomic.Int64 }

// Used returns the sum so far.
func (b *Bill) Used() time.Duration { return time.Duration(b.used.Load()) }

type billKey struct{}

// Charge returns a context that adds the writes ordered with it to the bill.
func Charge(ctx context.Context, bill *Bill) context.Context {
	return context.WithValue(ctx, billKey{}, bill)
}

// charge carries out orders in one transaction and charges each an equal part of it. The writer is locked to its
// thread.
func (w *writer) charge(batch []*order) error {
	begin := thread.Used()
	err := w.together(batch)
	used := thread.Used() - begin
	for _, o := range batch {
		if bill, ok := o.ctx.Value(billKey{}).(*Bill); ok {
			bill.used.Add(int64(used) / int64(len(batch)))
		}
	}
	return err
}
