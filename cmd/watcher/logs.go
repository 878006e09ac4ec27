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
	var q control.EventQuery
	var raw bool
	return cli.Command{
		Name: "logs", Operands: "REF", Brief: "show what happened in a run",
		About: `
Prints the child's standard output to standard output, and its standard error to standard error. Of an agent it shows what the agent says and does. All this comes
from the watcher's own log, which no parent can alter. The log is bounded: if events are missing, the command says their numbers. With
--json each event is an object on a line, as with subagent logs --json. With --raw it shows the output instead, byte for byte, as far as
the launcher has kept it; when the child has ended, it shows the ends of both streams. An interrupt leaves the child alone.
` + reference,
		Examples: []string{"watcher logs -f sub_1a2b3c4d", "watcher logs --since 57 --json main/sub_1a2b3c4d", "watcher logs --raw 3f0c >out 2>err"},
		Options: append([]cli.Option{
			{Name: "follow", Short: "f", Help: "follow the child until it ends; if it still waits, wait for it", Set: cli.On(&q.Follow)},
			{Name: "since", Value: "SEQ", Help: "begin after event number SEQ", Set: cli.Number(&q.Since)},
			{Name: "raw", Help: "show the output itself, and no events", Set: cli.On(&raw)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			ref, err := oneReference("logs", args)
			if err != nil {
				return 0, err
			}
			if q.Since < 0 || raw && q.Since > 0 {
				return 0, cli.Usage("--since takes the number of an event, and does not go with --raw")
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = a.ask(ctx, func(s control.Service) error {
				if raw {
					return s.Output(ctx, ref, q.Follow, a.pass)
				}
				return a.events(ctx, s, ref, q)
			})
			if errors.Is(err, context.Canceled) && ctx.Err() != nil {
				err = nil // an interrupt is the usual way to end this command
			}
			return exitOK, err
		},
	}
}

// events shows the events of a run. If no events are kept, it shows people the ends of the run's output instead.
func (a *app) events(ctx context.Context, s control.Service, ref string, q control.EventQuery) error {
	err := s.Events(ctx, ref, q, a.happened)
	if !errors.Is(err, control.ErrNoEvents) || a.JSON {
		return err
	}
	a.Say("%v; these are the ends of its output", err)
	return s.Output(ctx, ref, q.Follow, a.pass)
}

// happened shows one event.
func (a *app) happened(l control.EventLine) error {
	e := l.Event
	switch {
	case e == nil && l.End.Over:
		a.Say("the run has ended; event %d was the last", l.End.Newest)
	case e == nil:
		a.Say("the run goes on; event %d is the newest", l.End.Newest)
	case a.JSON:
		return a.Out.Object(e)
	case e.Type == delegation.EventStdout:
		a.Out.Foreign(e.Output())
	case e.Type == delegation.EventStderr:
		a.Errors.Foreign(e.Output())
	case e.Type == delegation.EventGap:
		a.Say("%s", e.ShowGap())
	default:
		a.Out.Foreign([]byte(e.Show()))
	}
	return a.Out.Err()
}

// piece is a part of a child's output as JSON, in the form of an event of the outbox. Bytes that are not UTF-8 are in
// base64.
type piece struct {
	Type   delegation.EventType `json:"type"`
	Text   string               `json:"text,omitempty"`
	Base64 []byte               `json:"base64,omitempty"`
}

// piecesOf returns one part of the output as JSON pieces. A gap comes before the bytes that follow it.
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
		a.Say("some output is missing here")
	}
	to := a.Out
	if o.Stream == sandbox.Stderr {
		to = a.Errors
	}
	to.Foreign(o.Bytes)
	return nil
}
