package main

import (
	"context"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

func (c *app) logsCommand() cli.Command {
	var follow bool
	from := int64(1)
	return cli.Command{
		Name: "logs", Operands: "ID", Brief: "show a child's output",
		About: `
Prints the child's standard output to standard output, and its standard error to standard error; of an agent, its words and actions. The host keeps a part of the output, and
only until the result is taken; logs says where output is missing. With --json each event is an object on a line.`,
		Examples: []string{"subagent logs -f sub_1a2b3c4d"},
		Options: []cli.Option{
			{Name: "follow", Short: "f", Help: "go on until the child ends", Set: cli.On(&follow)},
			{Name: "from", Value: "N", Help: "begin with event number N", Set: cli.Number(&from)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if len(operands) != 1 {
				return 0, cli.Usage("logs takes one id")
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

func (c *app) logs(ctx context.Context, run *manager.Run, from int64, follow bool) error {
	for event, err := range run.Events(ctx, from, follow) {
		switch {
		case err != nil:
			return err
		case c.Out.Err() != nil:
			return c.Out.Err()
		case c.JSON:
			if err := c.Out.Object(event); err != nil {
				return err
			}
		case event.Type == delegation.EventStdout:
			c.Out.Foreign(event.Output())
		case event.Type == delegation.EventStderr:
			c.Errors.Foreign(event.Output())
		case event.Type == delegation.EventGap:
			c.Say("%s", event.ShowGap())
		default:
			c.Out.Foreign([]byte(event.Show()))
		}
	}
	return nil
}
