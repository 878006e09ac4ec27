package main

import (
	"context"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

func (c *app) sendCommand() cli.Command {
	var interrupt bool
	within := manager.DefaultSendTime
	return cli.Command{
		Name: "send", Operands: "ID -- TEXT", Brief: "say something to a child's agent while it works",
		About: `
The agent takes the text as its user's next message, after its current step. With --interrupt the agent first stops its work. An
interrupt without a text only stops it, and the run then ends unless more was sent. The command returns when the agent has the text.`,
		Examples: []string{"subagent send sub_1a2b3c4d -- 'the tests are in ./check'", "subagent send sub_1a2b3c4d --interrupt -- 'stop, and revert what you did'"},
		Options: []cli.Option{
			{Name: "interrupt", Help: "first stop the agent's work", Set: cli.On(&interrupt)},
			{Name: "within", Value: "TIME", Help: "how long to wait until the agent has the text; by default 30s", Set: cli.Duration(&within)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			id, text, err := sendOperands(args, interrupt)
			if err != nil {
				return 0, err
			}
			kind := delegation.InputMessage
			if interrupt {
				kind = delegation.InputInterrupt
			}
			return c.send(ctx, id, kind, text, within)
		},
	}
}

// sendOperands returns the child's ID and the text.
func sendOperands(args cli.Args, interrupt bool) (id, text string, err error) {
	operands := args.All()
	switch {
	case len(operands) == 0:
		return "", "", cli.Usage("which subagent? an id is missing")
	case len(operands) == 1 && !interrupt:
		return "", "", cli.Usage("send takes a text after --")
	}
	return operands[0], strings.Join(operands[1:], " "), nil
}

func (c *app) send(ctx context.Context, id string, kind delegation.InputKind, text string, within time.Duration) (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	run, err := m.Attach(id)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n, err := run.Send(ctx, kind, text)
	if err != nil {
		return 0, err
	}
	if c.JSON {
		return exitCompleted, c.Out.Object(map[string]any{"subagent_id": run.ID(), "request_id": run.RequestID(), "n": n, "acknowledged": true})
	}
	c.Say("the agent of %s has it", run.ID())
	return exitCompleted, nil
}
