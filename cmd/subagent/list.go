package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

func (c *app) listCommand() cli.Command {
	var quiet bool
	return cli.Command{
		Name: "list", Brief: "show the children whose result was not taken",
		About: `
A child that ended is listed until subagent wait takes its result. With --json each child is an object on a line.`,
		Examples: []string{"subagent list", "subagent wait $(subagent list --quiet)"},
		Options: []cli.Option{
			{Name: "quiet", Short: "q", Help: "print ids only", Set: cli.On(&quiet)},
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if len(operands) > 0 {
				return 0, cli.Usage("list takes no operands, but there is %q", operands[0])
			}
			return c.list(ctx, quiet)
		},
	}
}

func (c *app) list(ctx context.Context, quiet bool) (int, error) {
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	found, err := m.List(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case c.JSON:
		err = c.listJSON(found.Items)
	case quiet:
		for _, item := range found.Items {
			fmt.Fprintln(c.Out, item.SubagentID)
		}
	case len(found.Items) == 0:
		c.Say("no runs in %s with a result to take", m.Outbox())
	default:
		c.table(found.Items, time.Now())
	}
	if found.More {
		c.Say("there are more children than these %d", len(found.Items))
	}
	if !quiet {
		c.watcher(m)
	}
	return exitCompleted, err
}

// watcher prints the watcher's notices, or that no watcher serves.
func (c *app) watcher(m *manager.Manager) {
	beat, nobody := m.Serving()
	if nobody != nil {
		c.Say("%v", nobody)
		return
	}
	c.notices(beat.Notices, nil)
}

func (c *app) listJSON(items []manager.Item) error {
	for _, item := range items {
		if err := c.Out.Object(listedOf(item)); err != nil {
			return err
		}
	}
	return nil
}

// table prints aligned columns.
func (c *app) table(items []manager.Item, now time.Time) {
	tree := slices.ContainsFunc(items, func(i manager.Item) bool { return i.ParentID != "" })
	head := []string{"SUBAGENT", "STATE", "AGE"}
	if tree {
		head = append(head, "PARENT")
	}
	rows := [][]cli.Cell{cli.Head(append(head, "TASK")...)}
	for _, item := range items {
		row := []cli.Cell{{Text: item.SubagentID}, stateOf(item), {Text: cli.Age(now.Sub(item.CreatedAt))}}
		if tree {
			row = append(row, cli.Cell{Text: cmp.Or(item.ParentID, "-")})
		}
		rows = append(rows, append(row, cli.Cell{Text: strings.TrimSpace(cli.OneLine(item.Task))}))
	}
	c.Out.List(rows)
}

// stateOf returns the state of a run in a word or two.
func stateOf(i manager.Item) cli.Cell {
	switch {
	case i.Status == delegation.StatusCompleted:
		return cli.Cell{Text: "completed", Colour: cli.Green}
	case i.Status != "" && i.Reason != "":
		return cli.Cell{Text: i.Reason.Words(), Colour: cli.Red}
	case i.Status != "":
		return cli.Cell{Text: string(i.Status), Colour: cli.Red}
	}
	where := cli.Cell{Text: stateText(manager.WaitUpdate{State: i.State, Position: i.Position})}
	if i.State == "" || i.State == delegation.StateQueued {
		where.Colour = cli.Dim
	}
	return where
}
