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
An outbox is a directory that an agent's container shares with this host; nothing else of the host does it see.`

const firstSteps = `watcher run --dir ./outbox                                     serve a directory; the container gets it as a mount
subagent --outbox ./outbox spawn --wait -- 'echo hello'        have something done, in another terminal
watcher ps -a                                                  see what was done
watcher check --dir ./outbox --try                             see what is enforced here, and how fast it is`

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
	"nothing that makes sandboxes works on this machine",
	"for run: stopped, and responses are owed or children are left, with which the next start goes on",
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
