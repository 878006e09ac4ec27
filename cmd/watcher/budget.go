package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) budgetCommand() cli.Command {
	var yes, tree bool
	var subagent string
	return cli.Command{
		Name: "budget", Operands: "[list | reset OUTBOX]", Brief: "show what outboxes have spent, or reset a budget",
		About: `
list   shows what each outbox has spent on models: today (outbox-day), and since counting began (tree). Without an operand the command does the
       same. If the clock has jumped and is not believed yet, list says so; until then days go on by the time since the boot.
reset  sets a budget back, as if nothing was spent: the outbox's budget of today, or with --tree the budget of the outbox as a whole, or with
       --subagent the budget of one subagent. It asks first. Requests under way count when they end. The log keeps the earlier sum.

The watcher and its model gateway have to run.`,
		Examples: []string{"watcher budget", "watcher budget reset main", "watcher budget reset main --subagent sub_1a2b3c4d --yes"},
		Options: append([]cli.Option{
			{Name: "tree", Help: "the budget of the outbox as a whole", Set: cli.On(&tree)},
			{Name: "subagent", Value: "ID", Help: "the budget of one subagent of the outbox", Set: cli.Text(&subagent)},
			{Name: "yes", Help: "do not ask", Set: cli.On(&yes)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			door, err := a.door(ctx)
			if err != nil {
				return 0, err
			}
			words := args.All()
			switch {
			case tree && subagent != "":
				return 0, cli.Usage("say either --tree or --subagent")
			case len(words) == 0 || len(words) == 1 && words[0] == "list":
				all, err := door.Budgets(ctx)
				if err != nil {
					return 0, err
				}
				return exitOK, a.sayBudgets(all)
			case len(words) == 2 && words[0] == "reset":
				of := control.BudgetOf{Kind: control.OutboxDay, Outbox: words[1], Subagent: subagent}
				if tree {
					of.Kind = control.Tree
				}
				if subagent != "" {
					of.Kind = control.Subagent
				}
				return exitOK, a.resetBudget(ctx, door, of, yes)
			}
			return 0, cli.Usage("budget takes list, or reset and the name of an outbox")
		},
	}
}

func (a *app) sayBudgets(all control.Budgets) error {
	if a.JSON {
		return a.Out.Object(all)
	}
	rows := [][]cli.Cell{cli.Head("OUTBOX", "SCOPE", "SPENT")}
	for _, b := range all.Budgets {
		rows = append(rows, cli.Row(cli.Cut(cli.OneLine(b.Outbox), shownName), string(b.Kind), costOf(b.Spent)))
	}
	a.Out.Table("", rows)
	if d := all.Clock; d != nil {
		a.Say("the clock has jumped to %s and is not believed yet: days go on as if it were %s, for another %s if the clock stays there",
			d.Clock.Format(time.RFC3339), d.Believed.Format(time.RFC3339), d.Left.Round(time.Minute))
	}
	return a.Out.Err()
}

// costOf puts into words how much was spent on a model.
func costOf(m *delegation.ModelUsage) string {
	if m == nil || m.Requests == 0 {
		return "nothing"
	}
	text := fmt.Sprintf("%d requests, %d tokens in, %d out", m.Requests, m.InputTokens, m.OutputTokens)
	if m.Money != "" {
		text += ", " + m.Money
	}
	return text
}

func (a *app) resetBudget(ctx context.Context, door *control.Client, of control.BudgetOf, yes bool) error {
	switch {
	case yes:
	case !cli.IsTerminal(a.In) || a.JSON:
		return &cli.UsageError{Text: "budget reset asks before it resets a budget, but there is no terminal to ask on", Next: "watcher budget reset " + cli.ShellWord(of.Outbox) + a.source.again() + " --yes"}
	case !a.says("Reset " + budgetName(of) + ", as if nothing was spent?"):
		return errors.New("nothing was reset")
	}
	was, err := door.ResetBudget(ctx, of)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Out.Object(was)
	}
	a.Say("%s is reset; before, %s was spent", budgetName(of), costOf(was.Spent))
	return nil
}

func budgetName(of control.BudgetOf) string {
	outbox := cli.OneLine(of.Outbox)
	switch of.Kind {
	case control.Tree:
		return "the budget of outbox " + outbox + " as a whole"
	case control.Subagent:
		return "the budget of " + outbox + "/" + cli.OneLine(of.Subagent)
	}
	return "today's budget of outbox " + outbox
}
