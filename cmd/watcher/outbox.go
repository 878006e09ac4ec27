package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) outboxCommand() cli.Command {
	var same, other bool
	return cli.Command{
		Name: "outbox", Operands: "accept NAME", Brief: "say which outbox a directory is",
		About: `
An outbox is its directory; the name is only for people. If the name leads to another directory than before, the watcher
does not serve the outbox, and leaves its running children alone: perhaps a file system is not mounted. Mount it, and the
watcher goes on by itself. If the other directory is right, choose one of these:

--same  The outbox lies there from now on, for example because it was moved or restored from a backup. Its runs go on; a run
        whose request is not there is ended.
--new   This is another outbox with the same name. The watcher ends all unfinished runs of the earlier outbox, and answers
        them nowhere.

watcher ps and the log say which outbox waits for a decision. The watcher has to run: it holds the directory in question.`,
		Examples: []string{"watcher outbox accept main --same", "watcher outbox accept --config /etc/torno/watcher.yaml main --new"},
		Options: append([]cli.Option{
			{Name: "same", Help: "the outbox lies in this directory from now on", Set: cli.On(&same)},
			{Name: "new", Help: "this directory is another outbox", Set: cli.On(&other)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			words := args.All()
			switch {
			case len(words) != 2 || words[0] != "accept":
				return 0, cli.Usage("outbox takes the word accept and the name of an outbox")
			case same == other:
				return 0, cli.Usage("say either --same or --new")
			}
			as := control.Same
			if other {
				as = control.New
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return exitOK, a.accept(ctx, words[1], as)
		},
	}
}

func (a *app) accept(ctx context.Context, outbox string, as control.Identity) error {
	state, err := a.stateDir(ctx)
	if err != nil {
		return err
	}
	accepted, err := control.Dial(state).Accept(ctx, outbox, as)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Out.Object(accepted)
	}
	what := "the same outbox as before"
	if as == control.New {
		what = "another outbox"
	}
	a.Say("%s is %s, with the id %s; the watcher serves it in a moment", cli.OneLine(accepted.Dir), what, accepted.ID)
	return nil
}
