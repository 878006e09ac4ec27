package main

import (
	"context"

	"torno/delegation"
	"torno/internal/agent/installed"
	"torno/internal/cli"
	"torno/internal/launcher"
)

// app is one invocation of the command.
type app struct {
	*cli.Program
	launchers launcher.List
	source    source
	machine   machine
	words     []string // the arguments, as they came
}

const introduction = `watcher starts a sandbox for every request file in an outbox and answers with a response file.
An outbox is a directory that an agent's container shares with this host. The container sees nothing else of the host.`

const firstSteps = `watcher run --dir ./outbox                                     serve a directory; the container gets it as a mount
subagent --outbox ./outbox spawn --wait -- 'echo hello'        start a subagent, in another terminal
watcher ps -a                                                  list the runs
watcher check --dir ./outbox --try                             see the guarantees that are enforced here, and how fast runs are`

// The exit codes. They are API.
const (
	exitOK = iota
	exitFailure
	exitUsage
	exitNoLauncher
	exitOwed
)

// exitCodes explains the exit codes, in order.
var exitCodes = []string{
	"done; for run: stopped, and every request has its response",
	"it failed, or the request was refused",
	"a mistake in the arguments or in the configuration",
	"no launcher of sandboxes works on this machine",
	"for run: stopped, but it owes responses or leaves children; the next start goes on with them",
}

// run executes one invocation and returns its exit code.
func run(ctx context.Context, args []string, system cli.System, launchers launcher.List) int {
	a := newApp(launchers)
	a.words = args
	return a.Main(ctx, args, system)
}

func newApp(launchers launcher.List) *app {
	a := &app{machine: here(), launchers: launchers, source: source{launchers: launchers, machine: installed.Here()}}
	a.Program = &cli.Program{
		Name: "watcher", Introduction: introduction, FirstSteps: firstSteps, ExitCodes: exitCodes,
		Diagnose: diagnose, Reference: "REF", References: "watcher ps --all --names",
	}
	a.Commands = []cli.Command{
		a.initCommand(), a.runCommand(), a.psCommand(), a.topCommand(), a.showCommand(), a.logsCommand(), a.cancelCommand(), a.approvalsCommand(), a.approveCommand(), a.denyCommand(), a.revokeCommand(), a.outboxCommand(), a.sessionsCommand(), a.gcCommand(), a.budgetCommand(), a.reloadCommand(), a.gatewayCommand(), a.serviceCommand(),
		a.specCommand(), a.checkCommand(), a.doctorCommand(), a.purgeCommand(), a.VersionCommand(delegation.Version),
	}
	return a
}
