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
	"log/slog"
	"math/rand/v2"
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

// How long to wait before a call that failed is made again: twice as long each time, and never in step with others.
const (
	firstBackoff = 100 * time.Millisecond
	// LastBackoff is the longest of them: what waits for a launcher that is back waits no longer.
	LastBackoff = 10 * time.Second
)

// Backoff is the pause before the next try, the first one having been number 1.
func Backoff(try int) time.Duration {
	pause := LastBackoff
	if try < 10 {
		pause = min(LastBackoff, firstBackoff<<try)
	}
	return pause/2 + rand.N(pause/2)
}

// IsLogged says whether a failed try is worth a line in the log: the first, the second, the fourth, and ever fewer of them.
func IsLogged(try int) bool { return try&(try-1) == 0 }

// Warn logs the first failure of a call, and then ever fewer of them.
func Warn(log *slog.Logger, what string, try int, err error) {
	if IsLogged(try) {
		log.Warn("a call failed; trying again", "call", what, "try", try, "error", err)
	}
}
