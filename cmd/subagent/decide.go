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

func (c *app) approveCommand() cli.Command {
	return c.decideCommand(delegation.Approve, cli.Command{
		Name: "approve", Operands: "ID APPROVAL DIGEST", Brief: "approve the tool call that an agent asks about",
		About: `
A child in the state waiting asks whether its agent may call a tool; subagent list --json and subagent logs show the call, in the child's
words. APPROVAL is the question's number, and DIGEST the beginning of the call's digest, 8 digits or more. The command approves that call
once, and no other call. Without APPROVAL and DIGEST it shows the question, with the line that approves it, and approves nothing: the child
could exchange its question for another one while you look at it.`,
		Examples: []string{"subagent approve sub_1a2b3c4d", "subagent approve sub_1a2b3c4d 1 5be1c0de"},
	})
}

func (c *app) denyCommand() cli.Command {
	return c.decideCommand(delegation.Deny, cli.Command{
		Name: "deny", Operands: "ID [APPROVAL] [-- WHY]", Brief: "deny the tool call that an agent asks about",
		About: `
APPROVAL is the question's number or the beginning of its digest; you may leave it out if only one question waits. The agent
gets WHY as the reason, and goes on.`,
		Examples: []string{"subagent deny sub_1a2b3c4d -- 'leave the lock file as it is'"},
	})
}

// decideCommand completes a command that decides a question.
func (c *app) decideCommand(as delegation.Decision, command cli.Command) cli.Command {
	within := manager.DefaultSendTime
	command.Options = []cli.Option{
		{Name: "within", Value: "TIME", Help: "how long to wait until the watcher has the decision; by default 30s", Set: cli.Duration(&within)},
	}
	command.Run = func(ctx context.Context, args cli.Args) (int, error) {
		operands, most := args.Words, 2
		if as == delegation.Approve {
			most = 3
		}
		if len(operands) == 0 || len(operands) > most {
			return 0, cli.Usage("%s takes %s", command.Name, command.Operands)
		}
		if as == delegation.Approve && len(args.Behind) > 0 {
			return 0, cli.Usage("approve takes no text: only deny tells the agent a reason")
		}
		return c.decide(ctx, operands[0], operands[1:], as, strings.Join(args.Behind, " "), within)
	}
	return command
}

func (c *app) decide(ctx context.Context, id string, named []string, as delegation.Decision, why string, within time.Duration) (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	run, err := m.Attach(id)
	if err != nil {
		return 0, err
	}
	seen, err := pick(run, named)
	if err == nil && as == delegation.Approve && !delegation.NamesApproval(named, seen.Approval, seen.Digest) {
		err = unseen(run.ID(), seen)
	}
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := run.Decide(ctx, seen, as, why); err != nil {
		return 0, err
	}
	if c.JSON {
		return exitCompleted, c.Out.Object(map[string]any{
			"subagent_id": run.ID(), "request_id": run.RequestID(), "approval": seen.Approval, "digest": seen.Digest, "decision": as,
		})
	}
	c.Say("%s: %s %s", run.ID(), map[delegation.Decision]string{delegation.Approve: "approved", delegation.Deny: "denied"}[as], askText(seen))
	return exitCompleted, nil
}

// unseen returns the error for an approval that does not name its question. It would approve whatever waits now, and
// that may be another call than the person looked at. So the error shows the waiting call.
func unseen(id string, seen delegation.PendingApproval) error {
	return cli.Usage("nothing is approved yet. The agent asks for this call: %s. To approve it: subagent approve %s %s", askText(seen), id, nameOf(seen))
}

func nameOf(a delegation.PendingApproval) string {
	return delegation.ApprovalName(a.Approval, a.Digest)
}

// pick finds the only question that all the words name. Each word is the question's number or the beginning of its
// digest.
func pick(run *manager.Run, named []string) (delegation.PendingApproval, error) {
	var found []delegation.PendingApproval
	for _, a := range run.Approvals() {
		if delegation.MeansApproval(named, a.Approval, a.Digest) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return delegation.PendingApproval{}, cli.Usage("%d questions of %s wait; give the number of one", len(found), run.ID())
	case len(named) == 0:
		return delegation.PendingApproval{}, fmt.Errorf("%s: %w", run.ID(), manager.ErrNoApproval)
	}
	return delegation.PendingApproval{}, fmt.Errorf("%s, approval %s: %w", run.ID(), strings.Join(named, " "), manager.ErrNoApproval)
}

// askText returns a question in one line. Its words are the child's.
func askText(a delegation.PendingApproval) string {
	more := ""
	if a.Cut {
		more = "…"
	}
	return cli.OneLine(fmt.Sprintf("approval %d (%s): %s %s%s", a.Approval, delegation.ShortDigest(a.Digest), a.Tool, a.Arguments, more))
}
