package main

import (
	"context"
	"fmt"
	"strings"

	"torno/delegation"
	"torno/manager"
)

func (c *cli) waitCommand() command {
	return command{
		name: "wait", operands: "ID…", brief: "wait for children and print their answers",
		about: `
A result is taken once: afterwards nothing of the run is left in the outbox, except its workspace. Of several children
the results come in the given order, and the exit code is that of the first that did not complete. An interrupt leaves
the children alone.`,
		examples: []string{
			"subagent wait sub_1a2b3c4d",
			"subagent wait --json $(subagent list --quiet)",
		},
		run: func(ctx context.Context, operands []string) (int, error) {
			return c.each(operands, func(m *manager.Manager, id string) (int, error) {
				run, err := m.Attach(id)
				if err != nil {
					return 0, err
				}
				result, err := run.Wait(ctx)
				if err != nil {
					return 0, err
				}
				if len(operands) > 1 && !c.json {
					fmt.Fprintln(c.out, c.out.paint(bold, id+":"))
					return c.showQuoted(result)
				}
				return c.show(result)
			})
		},
	}
}

// each does something for every id. One that fails does not keep the others from being done; the exit code is the
// first that is not 0.
func (c *cli) each(ids []string, do func(m *manager.Manager, id string) (int, error)) (int, error) {
	if len(ids) == 0 {
		return 0, usage("which subagent? an id is missing")
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
			code = c.fail(err)
		}
		if first == exitCompleted {
			first = code
		}
	}
	return first, nil
}

// show prints a result: the answer on standard output, everything else on standard error.
func (c *cli) show(r manager.Result) (int, error) {
	if c.json {
		return exitCode(r), c.object(endedOf(r))
	}
	c.out.foreign([]byte(r.Answer))
	if c.out.terminal && r.Answer != "" && !strings.HasSuffix(r.Answer, "\n") {
		fmt.Fprintln(c.out)
	}
	c.explainEnd(r)
	return exitCode(r), nil
}

// showQuoted prints a result among others, where an answer could pass for the next one's beginning.
func (c *cli) showQuoted(r manager.Result) (int, error) {
	c.out.quoted(r.Answer)
	c.explainEnd(r)
	return exitCode(r), nil
}

// explainEnd says what is not in the answer.
func (c *cli) explainEnd(r manager.Result) {
	for _, warning := range r.Warnings {
		c.line(dim, "warning:", warning)
	}
	switch {
	case r.AnswerErr != nil:
		c.line(red, "subagent:", fmt.Sprintf("the answer was not read: %v", r.AnswerErr))
	case r.AnswerTruncated:
		c.say("the answer is longer than what is shown; all of it is in %s", r.Workspace)
	}
	if r.Completed() {
		return
	}
	c.line(red, "subagent:", r.SubagentID+" "+describe(r))
	if r.Partial {
		c.say("its answer may be incomplete")
	}
	if r.Error != nil && r.Error.Hint != "" {
		c.line(bold, "next:", r.Error.Hint)
	}
	if r.Error != nil {
		return // the tail is the sentence of the refusal
	}
	c.tail("standard error", r.StderrTail)
	if r.Answer == "" {
		c.tail("standard output", r.StdoutTail)
	}
}

// tail shows the end of what the child printed.
func (c *cli) tail(stream, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		c.say("the end of its %s:", stream)
		c.errors.quoted(text)
	}
}

// describe says in words how a run ended.
func describe(r manager.Result) string {
	switch r.Reason {
	case delegation.ReasonExited:
		return fmt.Sprintf("failed with exit code %d", r.ExitCode)
	case delegation.ReasonSignalled:
		return fmt.Sprintf("was killed, exit code %d", r.ExitCode)
	case delegation.ReasonOutOfMemory:
		return "used up its memory and was killed"
	case delegation.ReasonWorkspaceLimit:
		return "filled its workspace over the limit and was ended"
	case delegation.ReasonDeadline:
		return "ran out of time and was ended"
	case delegation.ReasonCancelled:
		return "was cancelled"
	case delegation.ReasonOperator:
		return "was cancelled by the operator"
	case delegation.ReasonSuperseded:
		return "was replaced by a later request"
	case delegation.ReasonClientGone:
		return "was ended because its request was withdrawn"
	case delegation.ReasonShutdown:
		return "was ended because the watcher stopped"
	case delegation.ReasonLost:
		return "was lost: the watcher was interrupted while it ran"
	case delegation.ReasonRefused:
		return "was refused: " + refusalText(r)
	case delegation.ReasonLaunchFailed:
		return "could not be started: " + refusalText(r)
	}
	return fmt.Sprintf("ended as %s with exit code %d", r.Status, r.ExitCode)
}

func refusalText(r manager.Result) string {
	if r.Error == nil {
		return r.StderrTail
	}
	return r.Error.Text
}
