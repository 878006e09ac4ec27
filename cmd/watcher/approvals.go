package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) approvalsCommand() cli.Command {
	return cli.Command{
		Name: "approvals", Brief: "list the questions that agents ask and wait for",
		About: `
Each line is one question: an agent asks whether it may call a tool. The line has the run, the question's number, the beginning of the call's
digest, the time that is left until the question is denied, the tool and its arguments. Tool and arguments are the child's words. Long arguments
are cut, and the line says so. With --json each question is an object on a line, with the whole digest.`,
		Examples: []string{"watcher approvals", "watcher approve main/sub_1a2b3c4d 1 5be1c0de"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if operands := args.All(); len(operands) > 0 {
				return 0, cli.Usage("approvals takes no operands, but there is %q", operands[0])
			}
			door, err := a.door(ctx)
			if err != nil {
				return 0, err
			}
			questions, err := door.Approvals(ctx)
			if err != nil {
				return 0, err
			}
			return exitOK, a.sayQuestions(questions)
		},
	}
}

func (a *app) door(ctx context.Context) (*control.Client, error) {
	state, err := a.stateDir(ctx)
	if err != nil {
		return nil, err
	}
	return control.Dial(state), nil
}

func (a *app) sayQuestions(questions []control.Question) error {
	if a.JSON {
		for _, q := range questions {
			if err := a.Out.Object(q); err != nil {
				return err
			}
		}
		return nil
	}
	if len(questions) == 0 {
		a.Say("no agent waits for approval")
		return nil
	}
	rows := [][]cli.Cell{cli.Head("RUN", "APPROVAL", "DIGEST", "DENIED IN", "TOOL", "ARGUMENTS")}
	for _, q := range questions {
		rows = append(rows, []cli.Cell{
			{Text: cli.OneLine(q.Outbox + "/" + q.Subagent)},
			{Text: strconv.Itoa(q.Approval)},
			{Text: delegation.ShortDigest(q.Digest)},
			{Text: cli.Age(time.Until(q.ExpiresAt))},
			{Text: cli.OneLine(q.Tool)},
			{Text: argumentsText(q)},
		})
	}
	a.Out.Table("", rows)
	return nil
}

// argumentsText returns the arguments of a question for people. It marks arguments that are cut, because the hidden
// part may be the important one.
func argumentsText(q control.Question) string {
	text := cli.OneLine(q.Arguments)
	if q.Cut {
		text += "… (cut)"
	}
	return text
}

func (a *app) approveCommand() cli.Command {
	var always bool
	return cli.Command{
		Name: "approve", Operands: "REF APPROVAL DIGEST", Brief: "approve the tool call that an agent asks about",
		About: `
APPROVAL is the question's number, and DIGEST is the beginning of the call's digest; watcher approvals shows both. You approve this one call,
once. Without both, the command shows the question and approves nothing: the agent could exchange its question for another while you look at it.

With --always you also approve later calls of this run, if they are calls of the same tool with the same command, file or address. If Torno does
not know the tool, for example a tool of an MCP server, all arguments must be the same.
` + reference,
		Examples: []string{"watcher approve main/sub_1a2b3c4d", "watcher approve main/sub_1a2b3c4d 1 5be1c0de --always"},
		Options:  append([]cli.Option{{Name: "always", Help: "also approve later calls like this one, in this run", Set: cli.On(&always)}}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if len(args.Behind) > 0 {
				return 0, cli.Usage("approve takes no text: only deny tells the agent a reason")
			}
			return a.decide(ctx, args, control.Decision{Grant: true, Always: always})
		},
	}
}

func (a *app) denyCommand() cli.Command {
	return cli.Command{
		Name: "deny", Operands: "REF [APPROVAL] [-- WHY]", Brief: "deny the tool call that an agent asks about",
		About: `
The agent is told WHY, and goes on. APPROVAL is the question's number, or the beginning of the call's digest. You can leave it out if only one
question of the run waits.
` + reference,
		Examples: []string{"watcher deny main/sub_1a2b3c4d -- 'not on this machine'"},
		Options:  a.source.place(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			return a.decide(ctx, args, control.Decision{Why: strings.Join(args.Behind, " ")})
		},
	}
}

// decide finds the question that the words name, as it stands now, and grants or denies it.
func (a *app) decide(ctx context.Context, args cli.Args, d control.Decision) (int, error) {
	most := 2
	if d.Grant {
		most = 3
	}
	if len(args.Words) == 0 || len(args.Words) > most {
		return 0, cli.Usage("which question? give a REF and, if several questions wait, the number of one")
	}
	named := args.Words[1:]
	door, err := a.door(ctx)
	if err != nil {
		return 0, err
	}
	question, err := pick(ctx, door, args.Words[0], named)
	if err != nil {
		return 0, err
	}
	if d.Grant && !delegation.NamesApproval(named, question.Approval, question.Digest) {
		return 0, cli.Usage("nothing is approved yet. The agent asks for this call: %s %s. To approve it: watcher approve %s %s",
			cli.OneLine(question.Tool), argumentsText(question), args.Words[0], nameOf(question))
	}
	d.Approval, d.Digest = question.Approval, question.Digest
	if _, err := door.Decide(ctx, question.Key, d); err != nil {
		return 0, err
	}
	if a.JSON {
		return exitOK, a.Out.Object(question)
	}
	word := "denied"
	if d.Grant {
		word = "approved"
	}
	a.Say("%s", cli.OneLine(fmt.Sprintf("%s/%s: %s %d: %s %s", question.Outbox, question.Subagent, word, question.Approval, question.Tool, argumentsText(question))))
	return exitOK, nil
}

func nameOf(q control.Question) string { return delegation.ApprovalName(q.Approval, q.Digest) }

// pick finds the only question of a run that the words name. A word is the question's number or the beginning of its
// digest.
func pick(ctx context.Context, door *control.Client, ref string, named []string) (found control.Question, err error) {
	run, err := door.Run(ctx, ref)
	if err != nil {
		return found, err
	}
	all, err := door.Approvals(ctx)
	if err != nil {
		return found, err
	}
	matches := 0
	for _, q := range all {
		if q.Key == run.Key && delegation.MeansApproval(named, q.Approval, q.Digest) {
			found = q
			matches++
		}
	}
	switch matches {
	case 0:
		return found, fmt.Errorf("%w: %s", control.ErrNoQuestion, strings.Join(append([]string{ref}, named...), " "))
	case 1:
		return found, nil
	}
	return found, cli.Usage("%d questions of %s wait; give the number of one", matches, ref)
}

// minReason is the least length of a revocation's reason, in bytes. The reason is for the record.
const minReason = 10

func (a *app) revokeCommand() cli.Command {
	var why string
	var end bool
	return cli.Command{
		Name: "revoke", Operands: "REF", Brief: "approve no more calls of a run without a question",
		About: `
From now on neither the profile's rules nor an earlier --always approve a call of this run. Every call that its agent asks about is forwarded for
a decision, or denied if the profile says so. Questions that wait now are denied. With --end the watcher ends the run if a question waits.
` + reference,
		Examples: []string{"watcher revoke main/sub_1a2b3c4d --reason 'it deletes what it should read'"},
		Options: append([]cli.Option{
			{Name: "reason", Value: "TEXT", Help: "the reason, in 10 characters or more; the watcher keeps it with the run", Set: cli.Text(&why)},
			{Name: "end", Help: "end the run if a question waits", Set: cli.On(&end)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			refs := args.All()
			if len(refs) != 1 {
				return 0, cli.Usage("which run? revoke takes one REF")
			}
			if len(strings.TrimSpace(why)) < minReason {
				return 0, cli.Usage("revoke needs a reason of %d characters or more: --reason TEXT", minReason)
			}
			door, err := a.door(ctx)
			if err != nil {
				return 0, err
			}
			revoked, err := door.Revoke(ctx, refs[0], control.Revocation{Why: why, End: end})
			if err != nil {
				return 0, err
			}
			if a.JSON {
				return exitOK, a.Out.Object(revoked)
			}
			a.Say("%s of outbox %s: from now on no call is approved without a question; questions that waited: %d", revoked.Run.Subagent, revoked.Run.Outbox, revoked.Pending)
			return exitOK, nil
		},
	}
}
