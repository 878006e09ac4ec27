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
	var abandon bool
	return cli.Command{
		Name: "cancel", Operands: "REF…", Brief: "end runs",
		About: `
The child gets INT, ten seconds later TERM, and five seconds after that KILL. The command returns when the child's last
process is gone and its parent has the answer. If you interrupt the command, it returns at once; the child ends all the same.

A run is stranded while another site answers in the place of its own site: another Docker engine, or another state directory
of gVisor. The run then ends only when its own site is back. With --abandon the watcher answers the run at once, as lost. It
leaves alone any process that may still run there: the process can go on writing to its workspace, although other runs may
enter this workspace from then on. The watcher removes the sandbox when its site is back.
` + reference,
		Examples: []string{"watcher cancel sub_1a2b3c4d", "watcher cancel $(watcher ps --quiet)"},
		Options: append([]cli.Option{
			{Name: "abandon", Help: "give up stranded runs, although their sandboxes may live on", Set: cli.On(&abandon)},
		}, a.source.place()...),
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
			door := control.Dial(state)
			end := door.Cancel
			if abandon {
				end = door.Abandon
			}
			return a.endAll(ctx, end, refs), nil
		},
	}
}

// endAll ends all runs at the same time, so that a run that hangs or fails does not delay the others. It returns the
// exit code of the first failure, in the order of refs.
func (a *app) endAll(ctx context.Context, end func(context.Context, string) (control.Run, error), refs []string) int {
	type ended struct {
		which int
		run   control.Run
		err   error
	}
	all, room := make(chan ended), make(chan struct{}, mostAtOnce)
	for i, ref := range refs {
		go func() {
			room <- struct{}{}
			defer func() { <-room }()
			r, err := end(ctx, ref)
			all <- ended{i, r, err}
		}()
	}
	codes := make([]int, len(refs))
	for range refs {
		e := <-all
		codes[e.which] = a.sayEnded(e.run, e.err)
	}
	for _, code := range codes {
		if code != exitOK {
			return code
		}
	}
	return exitOK
}

// mostAtOnce bounds the connections of one command.
const mostAtOnce = 256

func (a *app) sayEnded(r control.Run, err error) int {
	switch {
	case err != nil:
		return a.Fail(err)
	case a.JSON:
		if err := a.Out.Object(r); err != nil {
			return a.Fail(err)
		}
	default:
		a.Say("%s of outbox %s: %s", r.Subagent, r.Outbox, stateOf(r, r.Ended).Text)
	}
	return exitOK
}
