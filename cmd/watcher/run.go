package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"torno/internal/cli"
	"torno/internal/serve"
)

func (a *app) runCommand() cli.Command {
	return cli.Command{
		Name: "run", Operands: "[-- COMMAND…]", Brief: "serve outboxes",
		About: `
With --config everything is said by the file. With --dir one directory is served: it is made if it is missing, and
workspaces may lie in DIR/workspaces unless --allow says otherwise. COMMAND is what a child runs; its elements may hold
{{.Task}} {{.TaskFile}} {{.Config}} {{.AnswerFile}} {{.Workspace}} {{.SubagentID}} {{.RequestID}} {{.Model}} {{.SessionID}},
each put in as it is, never through a shell. Without COMMAND the task is run with /bin/sh -c.

TERM or INT: nothing new is taken, children are drained or ended as shutdown says, everybody is answered. Once more: what
still runs is killed. HUP changes nothing.`,
		Examples: []string{
			"watcher run --dir ./outbox",
			"watcher run --dir ./outbox --read ~/src --image python:3.13-slim --max-running 4",
			"watcher run --dir ./outbox -- massgen --automation --output-file '{{.AnswerFile}}' -- '{{.Task}}'",
			"watcher run --config /etc/torno/watcher.yaml",
		},
		Options: a.source.options(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := noWords("run", args); err != nil {
				return 0, err
			}
			return exitOK, a.serve(ctx, args)
		},
	}
}

func (a *app) serve(ctx context.Context, args cli.Args) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	config, warnings, err := a.source.load(args)
	if err != nil {
		return err
	}
	log := newLog(a.Errors, config.Log)
	for _, w := range warnings {
		log.Warn("look at the configuration", "warning", w.String())
	}
	return serve.Run(ctx, serve.Options{
		Config: config, MakeOutbox: a.source.local.Dir != "", Log: log, Signals: signals, Engines: a.engines,
	})
}
