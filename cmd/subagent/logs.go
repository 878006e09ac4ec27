package main

import (
	"context"

	"torno/delegation"
	"torno/manager"
)

func (c *cli) logsCommand() command {
	var follow bool
	from := int64(1)
	return command{
		name: "logs", operands: "ID", brief: "show what a child prints",
		about: `
What the child wrote to its standard output and standard error goes to ours. The host keeps a part of it for as long as
the result was not taken; where some is missing, that is said. With --json each event is an object on a line.`,
		examples: []string{"subagent logs -f sub_1a2b3c4d"},
		options: []option{
			{name: "follow", short: "f", help: "go on until the child ends", set: on(&follow)},
			{name: "from", value: "N", help: "begin with event number N", set: number(&from)},
		},
		run: func(ctx context.Context, operands []string) (int, error) {
			if len(operands) != 1 {
				return 0, usage("logs takes one id")
			}
			m, err := c.open()
			if err != nil {
				return 0, err
			}
			defer m.Close()
			run, err := m.Attach(operands[0])
			if err != nil {
				return 0, err
			}
			return exitCompleted, c.logs(ctx, run, from, follow)
		},
	}
}

func (c *cli) logs(ctx context.Context, run *manager.Run, from int64, follow bool) error {
	for event, err := range run.Events(ctx, from, follow) {
		switch {
		case err != nil:
			return err
		case c.out.err != nil:
			return c.out.err
		case c.json:
			if err := c.object(event); err != nil {
				return err
			}
		case event.Type == delegation.EventStdout:
			c.out.foreign(event.Output())
		case event.Type == delegation.EventStderr:
			c.errors.foreign(event.Output())
		case event.Type == delegation.EventGap:
			c.say("some output is missing here")
		}
	}
	return nil
}
