package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Gate runs stages in a checkout.
type Gate struct {
	Checkout string    // where go test runs
	Sources  string    // Torno's own sources, for scripts/ and tools/
	Logs     string    // the directory of this run
	Flags    []string  // more flags of go test
	Out      io.Writer // what a person sees, and the log keeps
	load     *loadLog
}

// Outcome is how a stage ended.
type Outcome struct {
	Stage  string
	Red    bool
	Report Report
	Again  []Repeated
	Took   time.Duration
}

// Repeated is a test that failed and ran again.
type Repeated struct {
	Failure
	Passed int // of repeats
	Load   string
}

// repeats is how often a failed test runs again.
const repeats = 3

// Run runs a stage of these packages, and what failed in it again.
func (g *Gate) Run(ctx context.Context, s Stage, packages []string) (Outcome, error) {
	began := time.Now()
	report, ok, err := g.first(ctx, s, packages)
	if err != nil {
		return Outcome{}, err
	}
	verdict := Judge(report.Failures, ok)
	o := Outcome{Stage: s.Name, Red: verdict.Red, Report: report}
	for _, f := range verdict.Again {
		passed, err := g.repeat(ctx, s, f)
		if err != nil {
			return Outcome{}, err
		}
		o.Again = append(o.Again, Repeated{f, passed, g.load.at(f.At)})
		o.Red = o.Red || passed < repeats
	}
	o.Took = time.Since(began)
	return o, nil
}

// first runs the stage. gotestsum prints and keeps; the verdict is read from its JSON.
func (g *Gate) first(ctx context.Context, s Stage, packages []string) (Report, bool, error) {
	events := filepath.Join(g.Logs, s.Name+".json")
	args := []string{
		"tool", "-modfile=" + filepath.Join(g.Sources, "tools/go.mod"), "gotestsum", "--raw-command", "--format=pkgname", "--format-hide-empty-pkg", "--hide-summary=skipped",
		"--jsonfile=" + events, "--junitfile=" + filepath.Join(g.Logs, s.Name+".xml"), "--",
		filepath.Join(g.Sources, "scripts/gotest"), "-json", "-vet=off", "-timeout=40m", fmt.Sprintf("-p=%d", s.Parallel),
	}
	if len(s.Tests) > 0 {
		args = append(args, "-run="+onlyThese(s.Tests))
	} else {
		args = append(args, "-skip="+onlyThese(measures))
	}
	args = append(append(args, g.Flags...), packages...)
	cmd := g.command(ctx, s, "go", args...)
	cmd.Stdout, cmd.Stderr = g.Out, g.Out
	err := cmd.Run()
	if ctx.Err() != nil {
		return Report{}, false, ctx.Err()
	}
	read, openErr := os.Open(events)
	if openErr != nil {
		return Report{}, false, fmt.Errorf("gotestsum wrote no events (%w): %w", err, openErr)
	}
	defer read.Close()
	report, readErr := Read(read)
	return report, err == nil, readErr
}

// repeat runs one test again, with nothing beside it, and counts how often it passes. One that does not run does not pass.
func (g *Gate) repeat(ctx context.Context, s Stage, f Failure) (passed int, err error) {
	fmt.Fprintf(g.Out, "gate: %s of %s failed; it runs %d times more, alone\n", f.Test, f.Package, repeats)
	log, err := os.OpenFile(filepath.Join(g.Logs, s.Name+".again.json"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	for range repeats {
		var events bytes.Buffer
		cmd := g.command(ctx, s, filepath.Join(g.Sources, "scripts/gotest"), slices.Concat(
			[]string{"-json", "-vet=off", "-timeout=20m", "-count=1", "-run=" + onlyThese([]string{f.Test})}, g.Flags, []string{f.Package})...)
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&events, log), g.Out
		failed := cmd.Run()
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		again, err := Read(&events)
		if err != nil {
			return 0, err
		}
		if failed == nil && again.Passed == 1 && len(again.Failures) == 0 {
			passed++
		}
		for _, f := range again.Failures {
			fmt.Fprint(g.Out, strings.Join(f.Output, ""))
		}
	}
	return passed, nil
}

// cleanUp is how long a command may clean up behind its tests after an interrupt.
const cleanUp = time.Minute

// command runs in the checkout. Where the stage has no engine, its tests cannot find one.
func (g *Gate) command(ctx context.Context, s Stage, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, cleanUp
	cmd.Dir, cmd.Env = g.Checkout, os.Environ()
	if !s.Engine {
		cmd.Env = append(cmd.Env, "DOCKER_HOST=unix:///nonexistent/no-engine-in-this-stage", "TORNO_ENGINE=none")
	}
	return cmd
}

// onlyThese is the pattern for -run and -skip that these tests match, and no others.
func onlyThese(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }
