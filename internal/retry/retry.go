// Package retry is how Torno waits for something that nothing tells it of: a process that was killed and has not left yet,
// a lock that another holds, a keeper that begins. The caller looks, pauses, and looks again, for as long as its context
// lasts; how often it looks is the same everywhere:
//
//	for !gone() {
//		if err := retry.Pause(ctx, retry.Soon); err != nil {
//			return err
//		}
//	}
package retry

import (
	"context"
	"time"
)

// The pauses.
const (
	// Soon is for what the kernel or another of our own processes finishes within milliseconds.
	Soon = 2 * time.Millisecond
	// Later is for looks that themselves take milliseconds, such as through all of /proc.
	Later = 10 * time.Millisecond
)

// Pause waits. When the context ends first, or has ended, it returns ctx.Err().
func Pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
