package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
	"torno/sandbox"
)

func (a *app) logsCommand() cli.Command {
	var follow bool
	return cli.Command{
		Name: "logs", Operands: "REF", Brief: "show what a child prints",
		About: `
What the child wrote to its standard output and standard error goes to ours: everything that the launcher has kept while
the child runs, and the ends of both once it has ended. An interrupt leaves the child alone.
` + reference,
		Examples: []string{"watcher logs -f sub_1a2b3c4d", "watcher logs 3f0c >out 2>err"},
		Options: append([]cli.Option{
			{Name: "follow", Short: "f", Help: "go on until the child ends; wait for it while it waits", Set: cli.On(&follow)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			ref, err := oneReference("logs", args)
			if err != nil {
				return 0, err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = a.ask(ctx, func(s control.Service) error { return s.Output(ctx, ref, follow, a.pass) })
			if errors.Is(err, context.Canceled) && ctx.Err() != nil {
				err = nil // that is how one ends a look
			}
			return exitOK, err
		},
	}
}

// piece is a part of a child's output as JSON, in the form of an event of the outbox: what is no UTF-8 is in base64.
type piece struct {
	Type   delegation.EventType `json:"type"`
	Text   string               `json:"text,omitempty"`
	Base64 []byte               `json:"base64,omitempty"`
}

// piecesOf is what came in one piece; a gap lies before its bytes.
func piecesOf(o control.Output) (all []piece) {
	if o.Gap {
		all = append(all, piece{Type: delegation.EventGap})
	}
	p := piece{Type: delegation.EventType(o.Stream)}
	switch {
	case len(o.Bytes) == 0:
		return all
	case utf8.Valid(o.Bytes):
		p.Text = string(o.Bytes)
	default:
		p.Base64 = o.Bytes
	}
	return append(all, p)
}

// pass hands on a piece of a child's output.
func (a *app) pass(o control.Output) error {
	if a.JSON {
		for _, p := range piecesOf(o) {
			if err := a.Out.Object(p); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Gap {
		a.Say("here some output is missing")
	}
	to := a.Out
	if o.Stream == sandbox.Stderr {
		to = a.Errors
	}
	to.Foreign(o.Bytes)
	return nil
}
