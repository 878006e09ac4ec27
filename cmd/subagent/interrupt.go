package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"torno/manager"
)

// interruptGrace bounds how long spawn --wait waits for the end of a child that it cancelled.
const interruptGrace = time.Minute

// errWithdrawn means that the command left a child before it saw the child's end.
var errWithdrawn = errors.New("the request was withdrawn before the child had ended")

// waitOrCancel waits. After an interrupt it cancels the child and waits for its end. After a second interrupt, or if
// the end takes too long, it withdraws the request: the child belongs to this command, and no other command would take
// its result.
func (c *app) waitOrCancel(ctx context.Context, run *manager.Run) (manager.Result, error) {
	again, stop := secondInterrupt(ctx)
	defer stop()
	result, err := run.WaitWithUpdates(ctx, c.showUpdates(run))
	if err == nil || !errors.Is(err, context.Canceled) {
		return result, err
	}
	c.Say("cancelling %s; interrupt again to leave at once", run.ID())
	ctx, done := context.WithTimeout(again, interruptGrace)
	defer done()
	if err = run.Cancel(ctx); err == nil {
		result, err = run.WaitWithUpdates(ctx, c.showUpdates(run))
	}
	if err == nil || errors.Is(err, manager.ErrGone) || errors.Is(err, manager.ErrSuperseded) {
		return result, err
	}
	return result, errors.Join(fmt.Errorf("subagent %s: %w (%w)", run.ID(), errWithdrawn, err), run.Withdraw())
}

// secondInterrupt returns a context that ends with the second interrupt. The first interrupt ends ctx.
func secondInterrupt(ctx context.Context) (context.Context, func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	left := 2
	if ctx.Err() != nil {
		left = 1
	}
	again, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var counting sync.WaitGroup
	counting.Go(func() {
		for ; left > 0; left-- {
			select {
			case <-signals:
			case <-again.Done():
				return
			}
		}
		cancel()
	})
	return again, func() {
		signal.Stop(signals)
		cancel()
		counting.Wait()
	}
}
