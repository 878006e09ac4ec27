package manager

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
)

// AwaitAdmission waits until the watcher has accepted or refused the request, but no longer than most. It returns a
// result only for a refusal; that result stays in the outbox until Acknowledge, as with Wait. A slow or missing watcher
// is no error.
func (r *Run) AwaitAdmission(ctx context.Context, most time.Duration) (refused Result, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	wake, unsubscribe := r.m.hints.subscribe(r.concerns)
	defer unsubscribe()
	tick := time.NewTicker(min(r.m.poll, most/4))
	defer tick.Stop()
	for {
		response, _ := r.response() // if a file does not count, it may still be replaced
		if response != nil && response.Reason == delegation.ReasonRefused {
			return r.collect(*response), true, nil
		}
		if _, taken := r.status(); taken || response != nil {
			return Result{}, false, nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return Result{}, false, ctx.Err()
			}
			return Result{}, false, nil
		case <-wake:
		case <-tick.C:
		}
	}
}
