package main

import (
	"bytes"
	"context"
	"sync"

	"torno/delegation"
	"torno/manager"
)

// follower shows the events of a child.
type follower struct {
	app     *app
	pending []byte // the beginning of a line that has not ended
}

// follow shows on standard error the events of a run, until stop is called. If the run has ended, stop waits until the
// last event is shown.
func (c *app) follow(ctx context.Context, run *manager.Run) (stop func(ended bool)) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		f := follower{app: c}
		defer f.rest()
		for event, err := range run.Events(ctx, 1, true) {
			if err != nil || c.Errors.Err() != nil {
				return // the wait reports the error
			}
			f.live(event)
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

// live shows one event. Text from the child stands behind bars, line by line, so that it cannot pass for ours.
func (f *follower) live(event delegation.Event) {
	switch {
	case f.app.JSON:
		_ = f.app.Out.Object(event) // Out keeps the error; then the result is not taken
	case event.Type == delegation.EventStdout || event.Type == delegation.EventStderr:
		f.say(event.Output())
	case event.Type == delegation.EventGap:
		f.rest()
		f.app.Say("some output is missing here")
	default:
		f.say([]byte(event.Show()))
	}
}

// maxPending bounds a line that does not end.
const maxPending = 4 << 10

func (f *follower) say(text []byte) {
	f.pending = append(f.pending, text...)
	if end := bytes.LastIndexByte(f.pending, '\n'); end >= 0 {
		f.app.Errors.Quoted(string(f.pending[:end+1]))
		f.pending = append(f.pending[:0], f.pending[end+1:]...)
	}
	if len(f.pending) > maxPending {
		f.rest()
	}
}

// rest shows the pending text although its line has not ended.
func (f *follower) rest() {
	if len(f.pending) > 0 {
		f.app.Errors.Quoted(string(f.pending))
		f.pending = f.pending[:0]
	}
}
