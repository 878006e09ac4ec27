package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

func (c *app) waitCommand() cli.Command {
	var again, first, all bool
	return cli.Command{
		Name: "wait", Operands: "[ID…]", Brief: "wait for children and print their answers",
		About: `
A result counts as taken when wait has written it out; until then it stays. After that, nothing of the run is left in the outbox
except its workspace and, for a day, a copy of the result, which --again prints. The results of several children come in the
given order. The first child that did not complete decides the exit code. An interrupt leaves the children alone.`,
		Examples: []string{
			"subagent wait sub_1a2b3c4d",
			"subagent wait --any sub_1a2b3c4d sub_5e6f7a8b",
			"subagent wait --all",
			"subagent wait --json $(subagent list --quiet)",
		},
		Options: []cli.Option{
			{Name: "any", Help: "wait for the first child to end, and print only its result", Set: cli.On(&first)},
			{Name: "all", Help: "wait for all children whose result was not taken", Set: cli.On(&all)},
			{Name: "again", Help: "print results that were taken already: the last result of each child", Set: cli.On(&again)},
			{Name: "no-answer", Help: "take results whose workspace cannot be looked into from here, and do without their answers", Set: cli.On(&c.noAnswer)},
			c.patienceOption(),
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands, err := c.waitFor(ctx, args.All(), all, again)
			if err != nil || all && len(operands) == 0 {
				return exitCompleted, err
			}
			show := c.show
			if len(operands) > 1 && !c.JSON {
				show = c.showQuoted
			}
			switch {
			case again && c.noAnswer:
				return 0, cli.Usage("--no-answer and --again do not go together: --again takes nothing")
			case first && again:
				return 0, cli.Usage("--any and --again do not go together: --again waits for no child")
			case first:
				return c.waitAny(ctx, operands, show)
			}
			return c.each(operands, func(m *manager.Manager, id string) (int, error) {
				if again {
					return c.again(m, id, show)
				}
				run, err := m.Attach(id)
				if err != nil {
					return 0, err
				}
				result, err := run.WaitWithUpdates(ctx, c.showUpdates(run))
				if err != nil {
					return 0, err
				}
				return c.deliver(run, result, show)
			})
		},
	}
}

// waitFor returns the children to wait for: the named children, or with all every child in the outbox.
func (c *app) waitFor(ctx context.Context, named []string, all, again bool) ([]string, error) {
	switch {
	case !all:
		return named, nil
	case again:
		return nil, cli.Usage("--all and --again do not go together: --again waits for no child")
	case len(named) > 0:
		return nil, cli.Usage("--all waits for all children; leave %s out", named[0])
	}
	m, err := c.open()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	found, err := m.List(ctx)
	for _, item := range found.Items {
		named = append(named, item.SubagentID)
	}
	switch {
	case found.More:
		c.Warn(fmt.Sprintf("there are more children; this command waits for %d of them", len(named)))
	case err == nil && len(named) == 0:
		c.Say("no runs in %s with a result to take", m.Outbox())
	}
	return named, err
}

// again prints the copy of a result that was taken.
func (c *app) again(m *manager.Manager, id string, show func(manager.Result) (int, error)) (int, error) {
	result, err := m.Taken(id)
	if err != nil {
		return 0, err
	}
	c.Say("the result of %s was taken at %s; its workspace is %s", id, result.TakenAt.Format(time.RFC3339), result.Workspace)
	return show(result)
}

// each calls do for every ID, even after a failure. It returns the first exit code that is not 0.
func (c *app) each(ids []string, do func(m *manager.Manager, id string) (int, error)) (int, error) {
	if len(ids) == 0 {
		return 0, cli.Usage("which subagent? an id is missing")
	}
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	first := exitCompleted
	for _, id := range ids {
		code, err := do(m, id)
		if err != nil {
			code = c.Fail(err)
		}
		if first == exitCompleted {
			first = code
		}
		if c.Out.Err() != nil {
			break // the next result could not be printed either
		}
	}
	return first, nil
}

// show prints a result: the answer on standard output, everything else on standard error.
func (c *app) show(r manager.Result) (int, error) {
	if c.JSON {
		return exitCode(r), c.Out.Object(endedOf(r))
	}
	c.Out.Foreign([]byte(r.Answer))
	if c.Out.Terminal && r.Answer != "" && !strings.HasSuffix(r.Answer, "\n") {
		fmt.Fprintln(c.Out)
	}
	c.explainEnd(r)
	return exitCode(r), nil
}

// showFollowed prints the result of a child that was followed. The person has seen its standard error already, so that
// is left out if the child completed.
func (c *app) showFollowed(r manager.Result) (int, error) {
	if r.Completed() && !c.JSON {
		r.StderrTail = ""
	}
	return c.show(r)
}

// showQuoted prints a result among others. It quotes the answer, so that the answer cannot pass for the beginning of
// the next result.
func (c *app) showQuoted(r manager.Result) (int, error) {
	fmt.Fprintln(c.Out, c.Out.Paint(cli.Bold, r.SubagentID+":"))
	c.Out.Quoted(r.Answer)
	c.explainEnd(r)
	return exitCode(r), nil
}

// explainEnd prints everything about a result except its answer.
func (c *app) explainEnd(r manager.Result) {
	for _, warning := range r.Warnings {
		c.Line(cli.Dim, "warning:", warning)
	}
	switch {
	case r.AnswerErr != nil:
		c.Line(cli.Red, "subagent:", fmt.Sprintf("the answer was not read: %v", r.AnswerErr))
	case r.AnswerTruncated:
		c.Warn("only the beginning of the answer is shown; all of it is in " + r.AnswerWhole)
	}
	if r.Completed() {
		c.tail("standard error", r.StderrTail)
		return
	}
	c.Line(cli.Red, "subagent:", r.SubagentID+" "+r.Ending())
	if r.Partial {
		c.Say("its answer may be incomplete")
	}
	if r.Error == nil { // otherwise the tail would only repeat the sentence of the refusal
		c.tail("standard error", r.StderrTail)
		if r.Answer == "" {
			c.tail("standard output", r.StdoutTail)
		}
	}
	if next := nextAfter(r); next != "" {
		c.Line(cli.Bold, "next:", next)
	}
}

// notFound is the exit code of a shell, and of init, that does not find a command.
const notFound = 127

// nextAfter returns a next step for the parent of a run that did not complete, or "".
func nextAfter(r manager.Result) string {
	switch {
	case r.Error != nil:
		return r.Error.Hint
	case r.Reason == delegation.ReasonDeadline:
		return "give it more time with --timeout; subagent info shows how much its profile allows"
	case r.Reason == delegation.ReasonOutOfMemory:
		return "give it a smaller task, or ask the operator for a profile with more memory"
	case r.Reason == delegation.ReasonExited && r.ExitCode == notFound:
		return "a command was not found: the child has only the programs that its profile gives it"
	}
	return ""
}

// tail shows the end of the child's output.
func (c *app) tail(stream, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		c.Say("the end of its %s:", stream)
		c.Errors.Quoted(text)
	}
}
