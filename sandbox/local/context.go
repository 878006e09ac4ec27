package local

import (
	"context"
	"time"
)

// What a step that changes something may take, and what is done after a failure.
const (
	stepTime    = 2 * time.Minute
	cleanupTime = 30 * time.Second
)

// StepContext is for a step that changes something. Were it cut off, it would not be known whether it was done; so it is not,
// and has a time of its own. A caller's wish to cancel is heard before and after it.
func StepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTime)
}

// CleanupContext goes on when the call that it cleans up after was cancelled.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
