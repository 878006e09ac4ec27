package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// These bound what is printed of a run: the slowest tests, the failures of a stage, the first lines of a failure that ran again.
const (
	slow         = 10
	toldFailures = 30
	firstLines   = 4
)

// Print writes what a person needs to know of all stages that ran, and ends with the line of counts.
func Print(out io.Writer, outcomes []Outcome, commit string, day time.Time) (red bool) {
	var passed, failed int
	for _, o := range outcomes {
		passed += o.Report.Passed
		if o.Red {
			failed += len(o.Report.Failures)
			red = true
		} else {
			passed += len(o.Again)
		}
	}
	printSlowest(out, outcomes)
	printAgain(out, outcomes, commit, day)
	fmt.Fprintln(out, "\nStages:")
	for _, o := range outcomes {
		word := "passed"
		if o.Red {
			word = "FAILED"
		}
		fmt.Fprintf(out, "  %-10s %s %8s  %d passed, %d failed, %d skipped\n", o.Stage, word, o.Took.Round(time.Second), o.Report.Passed, len(o.Report.Failures), o.Report.Skipped)
	}
	for _, o := range outcomes {
		if !o.Red {
			continue
		}
		for i, f := range o.Report.Failures {
			if i == toldFailures {
				fmt.Fprintf(out, "FAIL  %s: and %d more\n", o.Stage, len(o.Report.Failures)-i)
				break
			}
			fmt.Fprintf(out, "FAIL  %s: %s\n", strings.Join(strings.Fields(o.Stage+" "+f.Package+" "+f.Test), " "), f.why())
		}
	}
	fmt.Fprintf(out, "\n%d passed, %d failed\n", passed, failed)
	return red
}

// PrintRecord writes the line of a run for docs/GATE.md, if all its stages are green.
func PrintRecord(out io.Writer, outcomes []Outcome, commit string, day time.Time, load float64) {
	var stages []string
	var all time.Duration
	passed, again := 0, 0
	for _, o := range outcomes {
		if o.Red {
			return
		}
		all += o.Took
		stages = append(stages, o.Took.Round(time.Second).String())
		passed += o.Report.Passed
		again += len(o.Again)
	}
	fmt.Fprintf(out, "\nfor docs/GATE.md: | %s | %s | %s (%s) | %d | %d | %.1f |\n",
		day.Format(time.DateOnly), commit, all.Round(time.Second), strings.Join(stages, ", "), passed+again, again, load)
}

func (f Failure) why() string {
	switch {
	case f.Package == "":
		return fmt.Sprintf("%s: %s", f.Cause, strings.TrimSpace(strings.Join(f.Output, "")))
	case f.Cause != "":
		return string(f.Cause)
	case isStrict(f.Package):
		return "a failed test of a package where one failure is enough (strict in test/gate/stages.go)"
	}
	return "a failed test"
}

func printSlowest(out io.Writer, outcomes []Outcome) {
	var all []Timed
	for _, o := range outcomes {
		all = append(all, o.Report.Times...)
	}
	slices.SortStableFunc(all, func(a, b Timed) int { return int(b.Took - a.Took) })
	fmt.Fprintln(out, "\nSlowest tests:")
	for _, t := range all[:min(slow, len(all))] {
		fmt.Fprintf(out, "  %7s  %s %s\n", t.Took.Round(100*time.Millisecond), t.Package, t.Test)
	}
}

// printAgain prints what running again has shown: first what passed, with its lines for docs/FLAKES.md, then what is red all the same.
func printAgain(out io.Writer, outcomes []Outcome, commit string, day time.Time) {
	var rows, notes []string
	for _, o := range outcomes {
		for _, r := range o.Again {
			var first []string
			for _, line := range r.Output {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "=== ") && len(first) < firstLines {
					first = append(first, "      "+line)
				}
			}
			row := fmt.Sprintf("  %s %s (%s; passed %d of %d)\n%s", r.Package, r.Test, r.Load, r.Passed, repeats, strings.Join(first, "\n"))
			if o.Red {
				notes = append(notes, row)
				continue
			}
			rows = append(rows, row, fmt.Sprintf("  for docs/FLAKES.md: | %s | %s %s | %s | not known |", day.Format(time.DateOnly), r.Package, r.Test, commit))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(out, "\npassed only when run again:\n%s\n", strings.Join(rows, "\n"))
	}
	if len(notes) > 0 {
		fmt.Fprintf(out, "\nran again, and the stage is red all the same:\n%s\n", strings.Join(notes, "\n"))
	}
}
