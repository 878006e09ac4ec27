package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) reloadCommand() cli.Command {
	var atMost time.Duration
	return cli.Command{
		Name: "reload", Brief: "have the watcher read its configuration again, and wait for the result",
		About: `
Does the same as a HUP, and returns when the watcher serves the new configuration. If the watcher takes nothing of it, the command
says why; the watcher then goes on with the earlier configuration. While an engine hangs that the new configuration needs, the command
waits. An interrupt ends only the command; the reload goes on.`,
		Examples: []string{"watcher reload", "watcher reload --config /etc/torno/watcher.yaml"},
		Options: append([]cli.Option{
			{Name: "timeout", Value: "TIME", Help: "wait no longer than this; the reload goes on", Set: cli.Duration(&atMost)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if len(args.All()) > 0 {
				return 0, cli.Usage("reload takes no operands")
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			if atMost > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, atMost)
				defer cancel()
			}
			return a.reload(ctx)
		},
	}
}

func (a *app) reload(ctx context.Context) (int, error) {
	state, err := a.stateDir(ctx)
	if err != nil {
		return 0, err
	}
	door := control.Dial(state)
	asked, err := door.Reload(ctx)
	if err != nil {
		return 0, err
	}
	result, err := door.AwaitReload(ctx, asked, func(what string) {
		if what != "" {
			a.Say("the reload waits: %s", what)
		}
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, cli.Hint(fmt.Errorf("the reload is not done yet, and goes on: %w", err), "the watcher's log says why it waits")
	case err != nil:
		return 0, err
	case result.Error != "":
		return 0, cli.Hint(fmt.Errorf("the watcher takes nothing of the new configuration, and goes on with the earlier one: %s", result.Error),
			"mend it, look at it with watcher check, and reload again")
	case a.JSON:
		return exitOK, a.Out.Object(result)
	}
	for _, change := range result.Changes {
		fmt.Fprintln(a.Out, cli.OneLine(change))
	}
	if len(result.Changes) == 0 {
		a.Say("the configuration has not changed")
	}
	return exitOK, nil
}
