package main

import (
	"context"
	"sync"

	"torno/delegation"
	"torno/manager"
)

// follow shows on standard error what the child of a run does, until stop is called. When the run has ended, stop waits for the last of it.
func (c *app) follow(ctx context.Context, run *manager.Run) (stop func(ended bool)) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		for event, err := range run.Events(ctx, 1, true) {
			if err != nil || c.Errors.Err() != nil {
				return // the wait says what is wrong
			}
			c.live(event)
		}
	})
	return func(ended bool) {
		if !ended {
			cancel()
		}
		following.Wait()
		cancel()
	}
}

// live shows one event.
func (c *app) live(event delegation.Event) {
	switch {
	case c.JSON:
		_ = c.Out.Object(event) // Out keeps the error, and the result is not taken then
	case event.Type == delegation.EventStdout || event.Type == delegation.EventStderr:
		c.Errors.Foreign(event.Output())
	case event.Type == delegation.EventGap:
		c.Say("some output is missing here")
	default:
		c.Errors.Foreign([]byte(event.Show()))
	}
}
