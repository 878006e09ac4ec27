package main

import (
	"cmp"
	"context"
	"sync"

	"torno/internal/cli"
	"torno/manager"
)

// waitAny delivers the result of the first child to end. The results of other children that have ended stay.
func (c *app) waitAny(ctx context.Context, ids []string, show func(manager.Result) (int, error)) (int, error) {
	if len(ids) == 0 {
		return 0, cli.Usage("which subagents? the ids are missing")
	}
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	var runs []*manager.Run
	for _, id := range ids {
		run, unknown := m.Attach(id)
		if unknown != nil {
			err = cmp.Or(err, unknown)
			continue
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return 0, err
	}
	if err != nil {
		c.Warn(err.Error())
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

// first waits for all runs at once. It returns when a run has ended, or when it can wait for none of them.
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
	var errs []error
	for range runs {
		o := <-outcomes
		if o.err == nil {
			cancel()
			return o.finished, nil
		}
		errs = append(errs, o.err)
	}
	return finished{}, errs[0]
}
