package main

import (
	"context"
	"sync"

	"torno/internal/cli"
	"torno/manager"
)

// waitAny delivers the result of the first child to end. The results of others that have ended stay.
func (c *app) waitAny(ctx context.Context, ids []string, show func(manager.Result) (int, error)) (int, error) {
	if len(ids) == 0 {
		return 0, cli.Usage("which subagents? the ids are missing")
	}
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	runs := make([]*manager.Run, len(ids))
	for i, id := range ids {
		if runs[i], err = m.Attach(id); err != nil {
			return 0, err
		}
	}
	first, err := c.first(ctx, runs)
	if err != nil {
		return 0, err
	}
	return c.deliver(first.run, first.result, show)
}

// finished is a run and its result.
type finished struct {
	run    *manager.Run
	result manager.Result
}

// first waits for all runs at once, until one has ended or cannot be waited for.
func (c *app) first(ctx context.Context, runs []*manager.Run) (finished, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	type outcome struct {
		finished
		err error
	}
	outcomes := make(chan outcome, len(runs))
	for _, run := range runs {
		waiting.Go(func() {
			result, err := run.WaitWithUpdates(ctx, c.showUpdates(run))
			outcomes <- outcome{finished{run, result}, err}
		})
	}
	o := <-outcomes
	cancel()
	return o.finished, o.err
}
