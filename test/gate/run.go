package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"torno/test/house"
)

// Gate runs stages in a checkout.
type Gate struct {
	Checkout string    // where go test runs
	Sources  string    // Torno's own sources, for scripts/ and tools/
	Logs     string    // the directory of this run
	Flags    []string  // more flags of go test
	Out      io.Writer // what a person sees, and the log keeps
	Busy     int       // loops beside the tests of Fresh
	Programs string    // where the shipped programs were built for all packages; "": each package builds its own
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

// Run runs a stage of these packages, and what failed in it again. The error is that of ctx: every other one is a failure of the stage.
func (g *Gate) Run(ctx context.Context, s Stage, packages []string) (Outcome, error) {
	began := time.Now()
	report := g.first(ctx, s, packages)
	verdict := Judge(report.Failures)
	o := Outcome{Stage: s.Name, Red: verdict.Red, Report: report}
	for _, f := range verdict.Again {
		passed := g.repeat(ctx, s, f)
		o.Again = append(o.Again, Repeated{f, passed, g.load.at(f.At)})
		o.Red = o.Red || passed < repeats
	}
	o.Took = time.Since(began)
	return o, ctx.Err()
}

// first runs the stage. gotestsum prints and keeps; the verdict is read from its JSON, and from its exit code where that says something else.
func (g *Gate) first(ctx context.Context, s Stage, packages []string) Report {
	events := filepath.Join(g.Logs, s.Name+".json")
	args := []string{
		"tool", "-modfile=" + filepath.Join(g.Sources, "tools/go.mod"), "gotestsum", "--raw-command", "--format=pkgname", "--format-hide-empty-pkg", "--hide-summary=skipped",
		"--jsonfile=" + events, "--junitfile=" + filepath.Join(g.Logs, s.Name+".xml"), "--",
		filepath.Join(g.Sources, "scripts/gotest"), "-json", "-vet=off", "-count=1", "-timeout=40m", fmt.Sprintf("-p=%d", s.Parallel),
	}
	if len(s.Tests) > 0 {
		args = append(args, "-run="+onlyThese(s.Tests))
	} else {
		args = append(args, "-skip="+onlyThese(named()))
	}
	code, err := g.command(ctx, s, g.Out, "go", slices.Concat(args, g.Flags, packages)...)
	report, readErr := readFile(events, packages)
	usual := 0
	if len(report.Failures) > 0 {
		usual = 1
	}
	if code != usual {
		err = errors.Join(fmt.Errorf("exit code %d with %d failures", code, len(report.Failures)), err)
	}
	if err = errors.Join(err, readErr); err != nil {
		report.Failures = append(report.Failures, Failure{Cause: Unexplained, Output: []string{err.Error()}, At: time.Now()})
	}
	return report
}

func readFile(events string, packages []string) (Report, error) {
	file, err := os.Open(events)
	if err != nil {
		return Report{}, err
	}
	defer file.Close()
	return Read(file, packages)
}

// repeat runs one test again, with nothing beside it, and counts how often it passes. One that does not run does not pass.
func (g *Gate) repeat(ctx context.Context, s Stage, f Failure) (passed int) {
	fmt.Fprintf(g.Out, "gate: %s of %s failed; it runs %d times more, alone\n", f.Test, f.Package, repeats)
	for range repeats {
		var events bytes.Buffer
		args := []string{"-json", "-vet=off", "-timeout=20m", "-count=1", "-run=" + onlyThese([]string{f.Test})}
		code, err := g.command(ctx, s, &events, filepath.Join(g.Sources, "scripts/gotest"), slices.Concat(args, g.Flags, []string{f.Package})...)
		again, readErr := Read(&events, []string{f.Package})
		if err = errors.Join(err, readErr); err != nil {
			fmt.Fprintln(g.Out, "gate: it does not run again:", err)
		}
		if err == nil && code == 0 && again.Passed == 1 && len(again.Failures) == 0 {
			passed++
		}
		for _, f := range again.Failures {
			fmt.Fprint(g.Out, strings.Join(f.Output, ""))
		}
	}
	return passed
}

// cleanUp is how long a command may clean up behind its tests after an interrupt.
const cleanUp = time.Minute

// command runs in the checkout, in a process group of its own, so that one interrupt reaches all of it and nothing of it outlives the command.
// Where the stage has no engine, its tests cannot find one.
func (g *Gate) command(ctx context.Context, s Stage, out io.Writer, name string, args ...string) (code int, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel, cmd.WaitDelay = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }, cleanUp
	cmd.Dir, cmd.Env = g.Checkout, os.Environ()
	if !s.Engine {
		cmd.Env = append(cmd.Env, "DOCKER_HOST=unix:///nonexistent/no-engine-in-this-stage", "TORNO_ENGINE=none")
	}
	if s.Engine && g.Programs != "" { // the stages without one change the sources, or build what they run
		cmd.Env = append(cmd.Env, house.Built+"="+g.Programs)
	}
	cmd.Stdout, cmd.Stderr = out, g.Out
	if err := cmd.Start(); err != nil {
		return -1, err
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nothing is left of the group where all went well
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode(), ctx.Err()
	}
	return 0, err
}

// onlyThese is the pattern for -run and -skip that these tests match, and no others.
func onlyThese(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }
