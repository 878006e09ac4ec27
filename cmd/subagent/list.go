package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"torno/delegation"
	"torno/manager"
)

func (c *cli) listCommand() command {
	var quiet bool
	return command{
		name: "list", brief: "show the children whose result was not taken",
		about: `
A child that ended is listed until subagent wait takes its result. With --json each child is an object on a line.`,
		examples: []string{"subagent list", "subagent wait $(subagent list --quiet)"},
		options: []option{
			{name: "quiet", short: "q", help: "print ids only", set: on(&quiet)},
		},
		run: func(ctx context.Context, operands []string) (int, error) {
			if len(operands) > 0 {
				return 0, usage("list takes no operands, but there is %q", operands[0])
			}
			return c.list(ctx, quiet)
		},
	}
}

func (c *cli) list(ctx context.Context, quiet bool) (int, error) {
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
	case c.json:
		err = c.listJSON(found.Items)
	case quiet:
		for _, item := range found.Items {
			fmt.Fprintln(c.out, item.SubagentID)
		}
	case len(found.Items) == 0:
		c.say("no runs in %s", m.Outbox())
	default:
		c.table(found.Items, time.Now())
	}
	if found.More {
		c.say("there are more than %d", len(found.Items))
	}
	if _, dead := m.Serving(); dead != nil && !quiet {
		c.say("%v", dead)
	}
	return exitCompleted, err
}

func (c *cli) listJSON(items []manager.Item) error {
	for _, item := range items {
		if err := c.object(listedOf(item)); err != nil {
			return err
		}
	}
	return nil
}

// table prints aligned columns.
func (c *cli) table(items []manager.Item, now time.Time) {
	rows := [][]string{{"SUBAGENT", "STATE", "AGE", "TASK"}}
	colours := []string{bold}
	for _, item := range items {
		state, colour := stateOf(item)
		rows = append(rows, []string{item.SubagentID, state, age(now.Sub(item.CreatedAt)), strings.TrimSpace(oneLine(item.Task))})
		colours = append(colours, colour)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				fmt.Fprintln(c.out, cell)
				continue
			}
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			if i == 1 || n == 0 {
				cell = c.out.paint(colours[n], cell)
			}
			fmt.Fprint(c.out, cell, space)
		}
	}
}

// stateOf says in a word or two where a run stands.
func stateOf(i manager.Item) (state, colour string) {
	switch {
	case i.Status == delegation.StatusCompleted:
		return "completed", green
	case i.Status != "" && i.Reason != "":
		return string(i.Reason), red
	case i.Status != "":
		return string(i.Status), red
	case i.State == delegation.StateQueued && i.Position > 0:
		return fmt.Sprintf("queued, %d.", i.Position), dim
	case i.State == "":
		return "unnoticed", dim
	}
	return string(i.State), ""
}

// age is a time in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}
