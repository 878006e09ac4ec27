package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) gcCommand() cli.Command {
	var ask control.Collect
	return cli.Command{
		Name: "gc", Brief: "remove workspaces that nothing needs any more",
		About: `
Clients make a workspace for each child below workspaces in the outbox, and leave it there. Once an hour the watcher removes the workspaces that
are over the rule (retention.workspaces: age, number, size of each outbox); gc has it look now. A workspace stays while a run uses it, reads it or
waits for it, while a request or an answer of its subagent is in the outbox, and while a kept session lets the subagent go on. A workspace that a
parent named stays, unless the rule says otherwise.

The command prints a line for each workspace that falls under the rule. When it returns, a removed workspace is gone from its place; the disk
space follows in small steps.`,
		Examples: []string{"watcher gc --dry-run", "watcher gc --unused 1d --outbox main"},
		Options: append([]cli.Option{
			{Name: "dry-run", Short: "n", Help: "remove nothing, and say what would be removed", Set: cli.On(&ask.DryRun)},
			{Name: "unused", Value: "TIME", Help: "use this age instead of the rule's, for workspaces that no run has used since", Set: cli.Duration(&ask.Age)},
			{Name: "outbox", Value: "NAME", Help: "only workspaces of one outbox", Set: cli.Text(&ask.Outbox)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("gc", args); err != nil {
				return 0, err
			}
			door, err := a.door(ctx)
			if err != nil {
				return 0, err
			}
			all, err := door.Collect(ctx, ask)
			if err != nil {
				return 0, err
			}
			return exitOK, a.sayCollected(all, ask.DryRun, time.Now())
		},
	}
}

func (a *app) sayCollected(all []control.Workspace, dryRun bool, now time.Time) error {
	if a.JSON {
		for _, w := range all {
			if err := a.Out.Object(w); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.Say("no workspace falls under the rule")
		return nil
	}
	rows := [][]cli.Cell{cli.Head("OUTBOX", "SUBAGENT", "UNUSED", "DISK", "WHAT")}
	for _, w := range all {
		rows = append(rows, append(cli.Row(cli.Cut(cli.OneLine(w.Outbox), shownName), cli.OneLine(w.Subagent), cli.Age(now.Sub(w.Used)), diskOf(w.Bytes)), whatOf(w)))
	}
	a.Out.Table("", rows)
	removed := len(slices.DeleteFunc(slices.Clone(all), func(w control.Workspace) bool { return w.Over == "" || w.Kept != "" }))
	if dryRun {
		a.Say("%d of %d would be removed", removed, len(all))
	}
	return a.Out.Err()
}

// whatOf tells whether a workspace is kept or removed, and why.
func whatOf(w control.Workspace) cli.Cell {
	switch {
	case w.Over == "":
		return cli.Cell{Text: "kept", Colour: cli.Dim}
	case w.Kept != "":
		return cli.Cell{Text: "kept: " + cli.OneLine(w.Kept), Colour: cli.Yellow}
	case w.Removed:
		return cli.Cell{Text: "removed: " + cli.OneLine(w.Over)}
	}
	return cli.Cell{Text: "over: " + cli.OneLine(w.Over)}
}

// diskOf writes a number of bytes in at most five characters.
func diskOf(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	value, units := float64(bytes), []string{"B", "K", "M", "G", "T", "P"}
	for value >= 1000 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	if value < 10 && units[0] != "B" {
		return fmt.Sprintf("%.1f%s", value, units[0])
	}
	return fmt.Sprintf("%.0f%s", value, units[0])
}
