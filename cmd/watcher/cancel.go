package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) cancelCommand() cli.Command {
	return cli.Command{
		Name: "cancel", Operands: "REF…", Brief: "end runs",
		About: `
The child gets INT, ten seconds later TERM and five seconds later KILL. The command returns when its last process is gone
and its parent is answered. An interrupt leaves before that; the child ends all the same.
` + reference,
		Examples: []string{"watcher cancel sub_1a2b3c4d", "watcher cancel $(watcher ps --quiet)"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			refs := args.All()
			if len(refs) == 0 {
				return 0, cli.Usage("which run? a REF is missing")
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			state, err := a.stateDir(ctx)
			if err != nil {
				return 0, err
			}
			return a.cancelAll(ctx, control.Dial(state), refs), nil
		},
	}
}

// cancelAll cancels every run. One that fails does not keep the others from it; the exit code is that of the first that did.
func (a *app) cancelAll(ctx context.Context, s control.Service, refs []string) int {
	first := exitOK
	for _, ref := range refs {
		r, err := s.Cancel(ctx, ref)
		code := exitOK
		switch {
		case err != nil:
			code = a.Fail(err)
		case a.JSON:
			if err := a.Out.Object(r); err != nil {
				code = a.Fail(err)
			}
		default:
			a.Say("%s of outbox %s: %s", r.Subagent, r.Outbox, stateOf(r, r.Ended).Text)
		}
		if first == exitOK {
			first = code
		}
	}
	return first
}
