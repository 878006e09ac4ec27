package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"torno/internal/cli"
	"torno/internal/doctor"
	"torno/internal/serve"
)

func (a *app) doctorCommand() cli.Command {
	return cli.Command{
		Name: "doctor", Brief: "examine this machine, and say what to do",
		About: `
Examines the machine, the launchers, the sandboxes, the roots and the remains of earlier installations. One line for each
finding says what was seen. If a finding is not ok, the lines below it say what it means and what to do. Known holes of an
engine and its runtime are compared with the fixes that the distribution's package claims to have. A child goes through each
profile and tries to reach the engine's sockets, the metadata address and a port of this machine; the same program tries this
outside of a sandbox.

The command changes nothing: it makes an installation for a moment and removes it again. It marks the findings that keep
watcher run from starting. The exit code is 1 if anything is bad.`,
		Examples: []string{"watcher doctor --dir ./outbox", "watcher doctor --config /etc/torno/watcher.yaml --json"},
		Options:  a.source.options(),
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			if err := onlyOptions("doctor", args); err != nil {
				return 0, err
			}
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.doctor(ctx)
		},
	}
}

func (a *app) doctor(ctx context.Context) (int, error) {
	if err := a.machine.onLinux(); err != nil {
		return 0, err
	}
	config, warnings, err := a.source.load(cli.Args{})
	if err != nil {
		return 0, err
	}
	system, err := serve.Examine(ctx, config, a.launchers)
	for _, w := range warnings {
		system.Warnings = append(system.Warnings, w.String())
	}
	findings := doctor.Examine(system)
	if a.JSON {
		if err := a.Out.Object(map[string]any{"findings": findings, "bad": doctor.IsBad(findings)}); err != nil {
			return 0, err
		}
	} else {
		a.printFindings(findings)
	}
	if err != nil {
		return 0, fmt.Errorf("clean up after the trial: %w", err)
	}
	if doctor.IsBad(findings) {
		return exitFailure, nil
	}
	return exitOK, nil
}

var verdictColours = map[doctor.Verdict]cli.Colour{
	doctor.OK: cli.Green, doctor.Warn: cli.Yellow, doctor.Bad: cli.Red, doctor.Unknown: cli.Dim,
}

// printFindings prints one table, with a heading for each group, and a conclusion.
func (a *app) printFindings(findings []doctor.Finding) {
	var rows [][]cli.Cell
	var group doctor.Group
	for _, f := range findings {
		if f.Group != group {
			rows = append(rows, cli.Head(string(f.Group)))
			group = f.Group
		}
		rows = append(rows, findingRows(f)...)
	}
	a.Out.Table("", append(rows, cli.Head(conclusion(findings))))
}

// conclusion sums up all findings in a sentence.
func conclusion(findings []doctor.Finding) string {
	verdicts, refusing := map[doctor.Verdict]int{}, 0
	for _, f := range findings {
		verdicts[f.Verdict]++
		if f.Refuses {
			refusing++
		}
	}
	bad, others := verdicts[doctor.Bad], verdicts[doctor.Warn]+verdicts[doctor.Unknown]
	switch {
	case refusing > 0:
		return fmt.Sprintf("watcher run does not start here; findings that keep it from starting: %d", refusing)
	case bad > 0:
		return fmt.Sprintf("bad findings: %d", bad)
	case others > 0:
		return fmt.Sprintf("nothing is bad; findings that are worth a look: %d", others)
	}
	return "all is well"
}

// findingRows returns the rows of one finding. A finding that is not ok has rows below it with its meaning and the next
// step.
func findingRows(f doctor.Finding) [][]cli.Cell {
	seen, below := cli.OneLine(f.Seen), []string{}
	if f.Verdict == doctor.OK {
		seen += "; " + cli.OneLine(f.Means)
	} else {
		below = append(below, cli.OneLine(f.Means))
	}
	if f.Refuses {
		below = append(below, "watcher run does not start with it")
	}
	if f.Do != "" {
		below = append(below, "→ "+cli.OneLine(f.Do))
	}
	if f.Accept != "" {
		below = append(below, "→ or accept less: "+cli.OneLine(f.Accept))
	}
	rows := [][]cli.Cell{{{Text: "  " + string(f.Verdict), Colour: verdictColours[f.Verdict]}, {Text: f.Name}, {Text: seen}}}
	for _, text := range below {
		rows = append(rows, []cli.Cell{{}, {}, {Text: text, Colour: cli.Dim}})
	}
	return rows
}
