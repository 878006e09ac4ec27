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
		Name: "reload", Brief: "have the configuration read again, and wait for the result",
		About: `
Does what a HUP does, and returns when the new configuration is served, or with the reason why nothing of it is taken: then the
earlier one is served on. While an engine hangs that the new one needs, it waits; an interrupt leaves, and the reload goes on.`,
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
		return 0, cli.Hint(fmt.Errorf("the reload is not done yet, and goes on: %w", err), "the watcher's log says what it waits for")
	case err != nil:
		return 0, err
	case result.Error != "":
		return 0, cli.Hint(fmt.Errorf("nothing of the configuration is taken, and the earlier one is served on: %s", result.Error),
			"mend it, look at it with watcher check, and reload again")
	case a.JSON:
		return exitOK, a.Out.Object(result)
	}
	for _, change := range result.Changes {
		fmt.Fprintln(a.Out, cli.OneLine(change))
	}
	if len(result.Changes) == 0 {
		a.Say("the configuration is as it was")
	}
	return exitOK, nil
}
