package main

import (
	"context"
	"errors"

	"torno/internal/cli"
	"torno/manager"
)

func (c *app) cancelCommand() cli.Command {
	var wait bool
	return cli.Command{
		Name: "cancel", Operands: "ID…", Brief: "end children",
		About: `
The host asks the child to end, and kills it if it does not: that may take 15 seconds. Cancelled means dead: with --wait, no
process of the child is left when the command returns. Its result is taken by --wait here, or later by subagent wait.`,
		Examples: []string{"subagent cancel sub_1a2b3c4d", "subagent cancel --wait $(subagent list --quiet)"},
		Options: []cli.Option{
			{Name: "wait", Help: "wait until the child is gone", Set: cli.On(&wait)},
			c.patienceOption(),
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			return c.each(operands, func(m *manager.Manager, id string) (int, error) {
				return c.cancel(ctx, m, id, wait)
			})
		},
	}
}

// cancel ends one child. It succeeds if the child has ended, however it ended.
func (c *app) cancel(ctx context.Context, m *manager.Manager, id string, wait bool) (int, error) {
	run, err := m.Attach(id)
	if err != nil {
		return 0, err
	}
	if err := run.Cancel(ctx); err != nil {
		return 0, err
	}
	if !wait {
		if _, err := m.Serving(); err != nil && !stopping(err) {
			return 0, err // the sentinel is written; a watcher heeds it when it serves again
		}
		return c.cancelling(run)
	}
	result, err := run.WaitWithUpdates(ctx, c.showUpdates(run))
	if err != nil {
		return 0, err
	}
	return c.deliver(run, result, c.showCancelled)
}

// showCancelled prints how a cancelled child ended. Its answer is kept for subagent wait --again.
func (c *app) showCancelled(result manager.Result) (int, error) {
	if c.JSON {
		return exitCompleted, c.Out.Object(endedOf(result))
	}
	if result.Completed() {
		c.Say("%s completed before it was cancelled", result.SubagentID)
	} else {
		c.Say("%s %s", result.SubagentID, result.Ending())
	}
	if result.Answer != "" {
		c.Say("it left an answer: subagent wait --again %s", result.SubagentID)
	}
	return exitCompleted, nil
}

func (c *app) cancelling(run *manager.Run) (int, error) {
	if c.JSON {
		return exitCompleted, c.Out.Object(map[string]any{
			"subagent_id": run.ID(), "request_id": run.RequestID(), "cancelling": true,
		})
	}
	c.Say("cancelling %s", run.ID())
	return exitCompleted, nil
}

// stopping reports whether the watcher lives but is about to stop. Such a watcher still ends children.
func stopping(err error) bool {
	e, ok := errors.AsType[*manager.NobodyServingError](err)
	return ok && e.Stopping
}
