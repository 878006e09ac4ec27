package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

const introduction = `subagent lets an agent in a container have tasks done by children, each in a sandbox of its own.
It writes a request file into the outbox. The host starts the child, and writes a response file.`

const firstSteps = `subagent spawn --wait -- 'id; echo hello'    do a task and print its answer
id=$(subagent spawn -- 'sleep 5; date')      start one and go on
subagent wait "$id"                          take its answer later
subagent list                                list the children and their states
subagent info                                show the profiles and limits of this outbox
subagent spawn --copy . --id fix -- 'fix it'  let a child change a copy; then: subagent diff fix, subagent apply fix`

// app holds one invocation.
type app struct {
	*cli.Program
	outbox   string
	patience time.Duration
	noAnswer bool // take a result although its answer may be where this process cannot look
}

func newApp() *app {
	c := &app{}
	c.Program = &cli.Program{
		Name: "subagent", Introduction: introduction, FirstSteps: firstSteps, ExitCodes: exitCodes,
		Diagnose: func(err error) cli.Trouble { return diagnose(err, c.outboxPath()) },
		// The program parses IDs, so they contain no shell characters.
		Reference: "ID", References: "subagent list --quiet",
		Options: []cli.Option{
			{Name: "outbox", Value: "DIR", Help: "the outbox; by default $TORNO_OUTBOX, then /outbox", Set: cli.Text(&c.outbox)},
		},
	}
	c.Commands = []cli.Command{
		c.spawnCommand(), c.continueCommand(), c.listCommand(), c.waitCommand(), c.cancelCommand(), c.sendCommand(), c.approveCommand(), c.denyCommand(), c.logsCommand(),
		c.diffCommand(), c.getCommand(), c.applyCommand(), c.infoCommand(), c.mcpCommand(), c.skillCommand(), c.installCommand(), c.VersionCommand(delegation.Version),
	}
	return c
}

// run executes one invocation and returns its exit code.
func run(ctx context.Context, args []string, system cli.System) int {
	return newApp().Main(ctx, args, system)
}

// patienceOption returns the --patience option of the commands that wait.
func (c *app) patienceOption() cli.Option {
	return cli.Option{
		Name: "patience", Value: "TIME", Help: "how long to wait while no watcher serves the outbox; by default 1m", Set: cli.Duration(&c.patience),
	}
}

// outboxPath returns the outbox's absolute path, or the path as given if the working directory is gone.
func (c *app) outboxPath() string {
	path := cmp.Or(c.outbox, c.Env("TORNO_OUTBOX"), "/outbox")
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// open opens the outbox.
func (c *app) open() (*manager.Manager, error) {
	path := c.outboxPath()
	m, err := manager.New(path, manager.Options{Patience: c.patience})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", errNoOutbox, path)
	}
	return m, err
}
