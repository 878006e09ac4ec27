package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

func (a *app) psCommand() cli.Command {
	q := control.Query{Limit: 1000}
	var quiet, names, watch, pool bool
	return cli.Command{
		Name: "ps", Brief: "list runs",
		About: `
The newest run comes first. If no watcher runs, the command shows the journal. If a run has a model, SPENT says how much the run has
spent on it so far, in money if the model has a price. DISK is the size of the workspace, now or at the run's end. PARENT, if there
is one, is a subagent: when its run ends, this run ends too.

--pool lists the sandboxes that were made ahead of runs instead. For each profile of an outbox, and each set of directories where mounts
appear (AT), it says how many sandboxes are ready and wanted, the memory that they take, how many runs found a ready one (USED) and how
many found none (MISSED).`,
		Examples: []string{"watcher ps", "watcher ps --pool", "watcher ps -a --limit 20", "watcher cancel $(watcher ps --quiet)"},
		Options: append([]cli.Option{
			{Name: "all", Short: "a", Help: "also runs that have ended", Set: cli.On(&q.All)},
			{Name: "quiet", Short: "q", Help: "print keys only", Set: cli.On(&quiet)},
			{Name: "names", Help: "print only subagents and keys, each once, for the completion of a shell", Set: cli.On(&names)},
			{Name: "watch", Short: "w", Help: "go on: repaint a terminal; elsewhere print a run when it is new or its state has changed", Set: cli.On(&watch)},
			{Name: "outbox", Value: "NAME", Help: "only runs of one outbox", Set: cli.Text(&q.Outbox)},
			{Name: "pool", Help: "list the sandboxes that were made ahead, instead of runs", Set: cli.On(&pool)},
			{Name: "limit", Value: "N", Help: "at most N runs; by default 1000", Set: cli.Number(&q.Limit)},
		}, a.source.place()...),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("ps", args); err != nil {
				return 0, err
			}
			if watch {
				return exitOK, a.watchRuns(ctx, q)
			}
			return exitOK, a.ask(ctx, func(s control.Service) error {
				if pool {
					return a.listPools(ctx, s)
				}
				runs, err := s.Runs(ctx, q)
				if err != nil {
					return err
				}
				if names {
					a.names(runs)
					return nil
				}
				if err := a.list(runs, q, quiet); err != nil || quiet || a.JSON {
					return err
				}
				a.sayNotices(ctx, s)
				return nil
			})
		},
	}
}

// names prints all words that can name a run: the subagents with a valid id, each once, and the keys.
func (a *app) names(runs []control.Run) {
	var all []string
	for _, r := range runs {
		if _, err := delegation.ParseSubagentID(r.Subagent); err == nil && !slices.Contains(all, r.Subagent) {
			all = append(all, r.Subagent)
		}
	}
	for _, r := range runs {
		all = append(all, r.Key)
	}
	for _, name := range all {
		fmt.Fprintln(a.Out, name)
	}
}

func onlyOptions(command string, args cli.Args) error {
	if all := args.All(); len(all) > 0 {
		return cli.Usage("%s takes no operands, but there is %q", command, all[0])
	}
	return nil
}

func (a *app) list(runs []control.Run, q control.Query, quiet bool) error {
	switch {
	case a.JSON:
		for _, r := range runs {
			if err := a.Out.Object(r); err != nil {
				return err
			}
		}
	case quiet:
		for _, r := range runs {
			fmt.Fprintln(a.Out, r.Key)
		}
	case len(runs) == 0 && q.All:
		a.Say("there are no runs")
	case len(runs) == 0:
		a.Say("nothing runs; watcher ps -a also shows runs that have ended")
	default:
		a.table(runs, time.Now())
	}
	if len(runs) == q.Limit {
		a.Say("there may be more than %d runs; see --limit", q.Limit)
	}
	return nil
}

// sayNotices tells the operator what keeps a running watcher from its work.
func (a *app) sayNotices(ctx context.Context, s control.Service) {
	status, err := s.Status(ctx)
	if err != nil {
		return // no watcher runs, and the list came from the journal
	}
	for _, box := range status.Outboxes {
		if box.Trouble != "" {
			a.Say("%s", cli.OneLine(box.Trouble))
		}
		for _, notice := range box.Notices {
			a.Say("outbox %s, since %s: %s", cli.OneLine(box.Name), notice.Since.Local().Format(time.TimeOnly), notice.Text)
		}
	}
}

// shownKey is how many characters of a key are shown. They are enough to name a run by.
const shownKey = 12

// shownName is how many characters of an outbox's name are shown. The names that watcher run --dir makes end in a hash.
const shownName = 14

func (a *app) table(runs []control.Run, now time.Time) { a.Out.List(runRows(runs, now)) }

// runRows returns a head and a row for each run. It puts texts that others wrote on one line, without control
// characters.
func runRows(runs []control.Run, now time.Time) [][]cli.Cell {
	spends := slices.ContainsFunc(runs, hasModel)
	tree := slices.ContainsFunc(runs, func(r control.Run) bool { return r.ParentRun != "" })
	head := []string{"RUN", "OUTBOX", "SUBAGENT", "AGE", "PROFILE"}
	if tree {
		head = append(head, "PARENT")
	}
	if spends {
		head = append(head, "SPENT")
	}
	disk := slices.ContainsFunc(runs, func(r control.Run) bool { return workspaceBytes(r) > 0 })
	if disk {
		head = append(head, "DISK")
	}
	rows := [][]cli.Cell{cli.Head(append(head, "STATE")...)}
	for _, r := range runs {
		row := cli.Row(r.Key[:min(shownKey, len(r.Key))], cli.Cut(cli.OneLine(r.Outbox), shownName), cli.OneLine(r.Subagent), cli.Age(now.Sub(r.Created)), or(r.Profile, "-"))
		if tree {
			row = append(row, cli.Cell{Text: parentOf(r)})
		}
		if spends {
			row = append(row, cli.Cell{Text: inShort(r)})
		}
		if disk {
			row = append(row, cli.Cell{Text: diskOf(workspaceBytes(r))})
		}
		rows = append(rows, append(row, stateOf(r, now)))
	}
	return rows
}

// parentOf returns the parent subagent of a run, or "-". The run ends when its parent's run ends.
func parentOf(r control.Run) string {
	if r.ParentRun == "" {
		return "-"
	}
	return cli.OneLine(r.Parent)
}

// workspaceBytes returns how much a run's workspace holds, or held at the run's end. It returns 0 if that is not known.
func workspaceBytes(r control.Run) int64 {
	if r.Usage == nil {
		return 0
	}
	return r.Usage.WorkspaceBytes
}

func hasModel(r control.Run) bool { return r.Usage != nil && r.Usage.Model != nil }

// inShort returns how much a run has spent on its model: money if the model has a price, otherwise tokens.
func inShort(r control.Run) string {
	switch {
	case !hasModel(r):
		return "-"
	case r.Usage.Model.Money != "":
		return cli.OneLine(r.Usage.Model.Money)
	}
	return fmt.Sprintf("%d tokens", r.Usage.Model.InputTokens+r.Usage.Model.OutputTokens)
}

// stateOf tells the state of a run in a few words.
func stateOf(r control.Run, now time.Time) cli.Cell {
	switch {
	case r.Stranded != "" && r.State != delegation.StateEnded:
		return cli.Cell{Text: "stranded", Colour: cli.Red}
	case r.Unserved != "" && r.State != delegation.StateEnded:
		return cli.Cell{Text: "not served", Colour: cli.Red}
	case r.State == delegation.StateRunning:
		return cli.Cell{Text: "running for " + cli.Age(now.Sub(r.Started))}
	case r.State == delegation.StateWaiting:
		return cli.Cell{Text: "waits for approval", Colour: cli.Yellow}
	case r.State == delegation.StateQueued && r.Position > 0:
		return cli.Cell{Text: fmt.Sprintf("queued, number %d", r.Position), Colour: cli.Dim}
	case r.State != delegation.StateEnded:
		return cli.Cell{Text: string(r.State), Colour: cli.Dim}
	case r.Reason == delegation.ReasonExited && r.ExitCode != nil && *r.ExitCode == 0:
		return cli.Cell{Text: "completed", Colour: cli.Green}
	}
	text := r.Reason.Words()
	switch {
	case r.Error != nil:
		text += ": " + string(r.Error.Code)
	case r.ExitCode != nil:
		text += fmt.Sprintf(" %d", *r.ExitCode)
	}
	return cli.Cell{Text: text, Colour: cli.Red}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return cli.OneLine(text)
}
