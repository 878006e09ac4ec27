package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"torno/configs"
	"torno/internal/cli"
	"torno/internal/serve"
)

func (a *app) runCommand() cli.Command {
	var keep, wait bool
	return cli.Command{
		Name: "run", Operands: "[-- COMMAND…]", Brief: "serve outboxes",
		About: `
With --config the file decides everything. With --dir the watcher serves one directory: it makes the directory if it is missing,
and workspaces may lie in DIR/workspaces unless --allow says otherwise. COMMAND is the command of a child; its words may hold
{{.Task}} {{.TaskFile}} {{.Config}} {{.AnswerFile}} {{.Workspace}} {{.SubagentID}} {{.RequestID}} {{.Model}} {{.SessionID}},
each is put in as it is, never through a shell. Without COMMAND the task runs with /bin/sh -c.

With --agent a child is Claude Code, Codex or MassGen, as installed here, and the task is its prompt. The credential is the
variable that the agent itself reads (ANTHROPIC_API_KEY; CODEX_API_KEY or OPENAI_API_KEY), or the login in your home. Only the
model gateway gets the credential, and it speaks for the children; a file of the state directory keeps a key for the gateway.
MassGen also needs --model, unless requests name a model. COMMAND is then the agent's program with your own arguments.

TERM or INT: the watcher takes nothing new, waits for children or ends them as shutdown says, and answers every request. A second
signal kills the children that still run. With --keep-running, or shutdown.running: keep, children outlive the watcher, and the
next watcher takes them over, for an upgrade.

HUP: the watcher reads the configuration again, and says what changed. No run is lost, and a configuration with a mistake
changes nothing. With --dir there is no configuration: HUP is then like TERM. So is the end of the terminal, or of the
reader of the log, unless HUP is ignored, as nohup does.`,
		Examples: []string{
			"watcher run --dir ./outbox",
			"watcher run --dir ./outbox --read ~/src --image python:3.13-slim --max-running 4",
			"watcher run --dir ./outbox --agent claude",
			"watcher run --dir ./outbox -- massgen --automation --output-file '{{.AnswerFile}}' -- '{{.Task}}'",
			"watcher run --config /etc/torno/watcher.yaml",
		},
		Options: append(a.source.options(), cli.Option{
			Name: "keep-running", Help: "when told to stop, leave children to the next watcher", Set: cli.On(&keep),
		}, cli.Option{
			Name: "wait", Help: "with --dir: if another watcher serves the outbox, wait until it ends", Set: cli.On(&wait),
		}),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := noWords("run", args); err != nil {
				return 0, err
			}
			return exitOK, a.serve(ctx, args, keep, wait)
		},
	}
}

func (a *app) serve(ctx context.Context, args cli.Args, keep, wait bool) error {
	if err := a.machine.onLinux(); err != nil {
		return err
	}
	read := func() (configs.Config, *slog.Logger, error) { return a.read(args, keep) }
	config, log, err := read()
	if err != nil {
		return err
	}
	found := a.source.found
	o := serve.Options{Config: config, Log: log, Launchers: a.launchers, Wait: wait, WithState: func() error {
		return keepKey(found.Key, config.KeyFile(found.Name), config.State)
	}}
	o.Quick = a.source.config == ""
	signals := make(chan os.Signal, 8)
	o.Signals = signals
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	defer outliveReaders()()
	switch {
	case a.source.config != "":
		o.Reload = read
		signal.Notify(signals, syscall.SIGHUP)
	case signal.Ignored(syscall.SIGHUP): // nohup does this
		o.MakeOutbox = true
	default:
		o.MakeOutbox = true
		signal.Notify(signals, syscall.SIGHUP)
		defer watchHangup(os.Stderr, signals)()
	}
	return a.pasteable(serve.Run(ctx, o))
}

// read reads the configuration, at the start and again for every HUP.
func (a *app) read(args cli.Args, keep bool) (configs.Config, *slog.Logger, error) {
	config, warnings, err := a.source.load(args)
	if err != nil {
		return configs.Config{}, nil, err
	}
	if keep {
		config.Shutdown.Running = configs.Keep
	}
	log := newLog(a.Errors, config.Log)
	for _, w := range warnings {
		log.Warn("look at the configuration", "warning", w.String())
	}
	return config, log, nil
}
