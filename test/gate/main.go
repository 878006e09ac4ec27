package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"torno/test/house"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, errRed):
		os.Exit(1)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "gate: interrupted: nothing is known of this commit")
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(2)
	}
}

// errRed has been explained to the person who ran the gate.
var errRed = errors.New("red")

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: gate SUITE [STAGE…], where the suites are test and night; or gate fresh [COMMIT]")
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if args[0] == "fresh" {
		return fresh(ctx, here, append(args[1:], "HEAD")[0])
	}
	suite := args[0]
	stages, err := stagesOf(suite, args[1:])
	if err != nil {
		return err
	}
	commit := cmp.Or(commitOf(ctx), "no-commit")
	logs, err := openLogs(time.Now(), suite, commit)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(logs, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	g := &Gate{Checkout: here, Sources: here, Logs: logs, Flags: strings.Fields(os.Getenv("TESTFLAGS")), Out: io.MultiWriter(os.Stdout, log), load: &loadLog{}}
	watched, unwatch := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); g.load.Watch(watched) }()
	defer func() { unwatch(); <-done }()

	fmt.Fprintf(g.Out, "gate: %s of %s; log, JSON and JUnit: %s\n", suite, commit, logs)
	if len(g.Flags) > 0 {
		fmt.Fprintf(g.Out, "gate: TESTFLAGS: %s\n", strings.Join(g.Flags, " "))
	}
	r := round{stopAtRed: suite == "test", again: len(args) > 1}
	if suite == "night" && len(g.Flags) == 0 { // flags make it another suite
		if r.nights, err = nightsOf(ctx, here, commit); err != nil {
			return err
		}
	}
	outcomes, err := g.runAll(ctx, stages, r)
	if err != nil {
		return err
	}
	if suite == "test" && len(args) == 1 && len(g.Flags) == 0 { // flags make it another suite
		PrintRecord(g.Out, outcomes, commit, time.Now(), g.load.highest())
	}
	if Print(g.Out, outcomes, commit, time.Now()) {
		return errRed
	}
	return nil
}

// fresh runs the tests that are new or changed since a commit, and names the stages of the night that the change needs.
func fresh(ctx context.Context, here, since string) error {
	changed, err := changedFiles(ctx, here, since)
	if err != nil {
		return err
	}
	if stages := needed(changed); len(stages) > 0 {
		fmt.Printf("gate: this change needs of the night: make night STAGE='%s'\n", strings.Join(stages, " "))
	}
	tests, err := freshTests(ctx, here, since)
	if err != nil {
		return err
	}
	g := &Gate{Checkout: here, Sources: here, Flags: strings.Fields(os.Getenv("TESTFLAGS")), Out: os.Stdout, Busy: runtime.NumCPU()}
	return g.Fresh(ctx, tests)
}

// round is how stages are run.
type round struct {
	stopAtRed bool   // the first red stage is the last
	nights    nights // knows the stages that were green
	again     bool   // also those run
}

// runAll runs stages in turn.
func (g *Gate) runAll(ctx context.Context, stages []Stage, r round) ([]Outcome, error) {
	all, err := g.list(ctx, "./...")
	if err != nil {
		return nil, err
	}
	programs, err := os.MkdirTemp("", "torno-gate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(programs)
	if err := house.BuildPrograms(ctx, programs); err != nil {
		return nil, err
	}
	g.Programs = programs
	var outcomes []Outcome
	for i, s := range stages {
		if before := r.nights.green(s.Name); before != "" && !r.again {
			fmt.Fprintf(g.Out, "\ngate: stage %s, %d of %d, is left out: it was green %s. make night STAGE=%s runs it again\n", s.Name, i+1, len(stages), before, s.Name)
			continue
		}
		packages := otherPackages(all)
		if len(s.Packages) > 0 {
			if packages, err = g.list(ctx, s.Packages...); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(g.Out, "\ngate: stage %s, %d of %d\n", s.Name, i+1, len(stages))
		o, err := g.Run(ctx, s, packages)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
		if err := r.nights.keep(o, time.Now()); err != nil {
			return nil, err
		}
		if o.Red && r.stopAtRed {
			break
		}
	}
	return outcomes, nil
}

// list returns the packages that patterns match.
func (g *Gate) list(ctx context.Context, patterns ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, patterns...)...)
	cmd.Dir, cmd.Stderr = g.Checkout, g.Out
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages %s: %w", strings.Join(patterns, " "), err)
	}
	return strings.Fields(string(text)), nil
}

// commitOf returns the commit of the checkout; nothing where git does not tell.
func commitOf(ctx context.Context) string {
	text, _ := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output() // an archive of the sources has none
	return strings.TrimSpace(string(text))
}

// runsKept is how many earlier runs of a suite keep their logs.
const runsKept = 9

// openLogs makes the directory of a run, in the user's cache, and removes those of the suite's oldest runs.
func openLogs(now time.Time, suite, commit string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	above := filepath.Join(cache, "torno-gate", suite)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return "", err
	}
	earlier, err := os.ReadDir(above) // in the order of their names, which begin with their time
	if err != nil {
		return "", err
	}
	for _, old := range earlier[:max(0, len(earlier)-runsKept)] {
		_ = os.RemoveAll(filepath.Join(above, old.Name())) // it only takes room
	}
	return os.MkdirTemp(above, now.UTC().Format("20060102-150405-")+commit+"-")
}
