// Package retry waits for events that nothing announces: a killed process leaves, a lock becomes free, a keeper begins.
// The caller looks, pauses and looks again, as long as its context lasts. The pauses are the same everywhere in Torno:
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
	// Soon is for work that the kernel, or another of our own processes, finishes within milliseconds.
	Soon = 2 * time.Millisecond
	// Later is for looks that take milliseconds themselves, such as a look through all of /proc.
	Later = 10 * time.Millisecond
)

// Pause waits for d. If the context has ended or ends first, Pause returns ctx.Err().
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

// Pauses before a failed call is made again. Each is about twice as long as the last, and random, so that callers do
// not try in step.
const (
	firstBackoff = 100 * time.Millisecond
	// LastBackoff bounds these pauses, and so how long a caller goes on waiting after a launcher is back.
	LastBackoff = 10 * time.Second
)

// Backoff returns the pause after this try has failed. The first try has number 1.
func Backoff(try int) time.Duration {
	pause := LastBackoff
	if try < 10 {
		pause = min(LastBackoff, firstBackoff<<try)
	}
	return pause/2 + rand.N(pause/2)
}

// IsLogged reports whether a failed try is worth a line in the log: the first, the second, the fourth, the eighth and
// so on.
func IsLogged(try int) bool { return try&(try-1) == 0 }

// Warn logs a failed try, if IsLogged finds it worth a line.
func Warn(log *slog.Logger, what string, try int, err error) {
	if IsLogged(try) {
		log.Warn("a call failed; trying again", "call", what, "try", try, "error", err)
	}
}
