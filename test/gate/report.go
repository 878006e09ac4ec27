package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json, as cmd/test2json documents it.
type event struct {
	Time        time.Time
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// Report is what one call of go test came to.
type Report struct {
	Passed, Skipped int // test functions; their subtests are not counted
	Failures        []Failure
	Times           []Timed // of test functions
}

// Timed is a test and how long it took.
type Timed struct {
	Package, Test string
	Took          time.Duration
}

// Failure is a test function that failed, a package that failed beyond its tests, or a go test that failed beyond its packages.
type Failure struct {
	Package, Test string // Test is empty where the package failed, and Package where go test did
	Cause         Cause
	Output        []string
	At            time.Time
}

// Cause is why a failure is red at once. An ordinary failed test has none.
type Cause string

const (
	DataRace    Cause = "a data race"
	Panic       Cause = "a panic or a time-out"
	BrokenOff   Cause = "the test binary ended before its tests did"
	NoBuild     Cause = "the package does not compile"
	BeyondTests Cause = "the package failed beyond its tests"
	NotRun      Cause = "nothing tells how the package ended"
	Unexplained Cause = "go test failed beyond its packages"
)

// keptLines bounds what is kept of an output.
const keptLines = 4000

// packageRun collects the events of one package.
type packageRun struct {
	tests  map[string]*testRun
	output []string
	action string // pass, fail, skip; empty while it runs
	cause  Cause
	said   bool // the binary itself said FAIL
	at     time.Time
}

type testRun struct {
	action  string // as above
	elapsed float64
	output  []string
	cause   Cause
	at      time.Time
}

// Read reads the events of a run of packages. It passes over lines that are not JSON: gotestsum has printed them.
func Read(events io.Reader, packages []string) (Report, error) {
	runs := map[string]*packageRun{}
	for _, path := range packages {
		runs[path] = &packageRun{tests: map[string]*testRun{}}
	}
	lines := bufio.NewReaderSize(events, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Package != "" {
			if runs[e.Package] == nil {
				runs[e.Package] = &packageRun{tests: map[string]*testRun{}}
			}
			runs[e.Package].take(e)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Report{}, fmt.Errorf("read the events of go test: %w", err)
		}
	}
	var r Report
	for _, path := range slices.Sorted(maps.Keys(runs)) {
		r.add(path, runs[path])
	}
	return r, nil
}

func (p *packageRun) take(e event) {
	if e.Test == "" {
		p.takeOwn(e)
		return
	}
	root, sub, _ := strings.Cut(e.Test, "/")
	t := p.tests[root]
	if t == nil {
		t = &testRun{}
		p.tests[root] = t
	}
	switch e.Action {
	case "output":
		t.output = keep(t.output, e.Output)
		if cause := causeIn(e.Output); cause != "" {
			t.cause = cause
		}
	case "pass", "fail", "skip":
		if sub == "" {
			t.action, t.elapsed, t.at = e.Action, t.elapsed+e.Elapsed, e.Time
		}
	}
}

// takeOwn takes an event of the package itself.
func (p *packageRun) takeOwn(e event) {
	switch e.Action {
	case "output":
		p.output = keep(p.output, e.Output)
		p.said = p.said || e.Output == "FAIL\n"
		cause := causeIn(e.Output)
		if cause == "" && !isUsual(e.Output) {
			cause = BeyondTests
		}
		if p.cause == "" || cause == DataRace || cause == Panic {
			p.cause = cause
		}
	case "pass", "skip":
		p.action = e.Action
	case "fail":
		p.action, p.at = e.Action, e.Time
		if e.FailedBuild != "" {
			p.cause = NoBuild
		}
	}
}

func keep(lines []string, line string) []string {
	if len(lines) == keptLines {
		lines = slices.Clone(lines[keptLines/2:])
	}
	return append(lines, line)
}

// causeIn finds a cause in a line that a test binary printed. A program that a test starts may say the same of itself, and is ours, too.
func causeIn(line string) Cause {
	switch {
	case strings.Contains(line, "WARNING: DATA RACE"), strings.Contains(line, "race detected during execution of test"):
		return DataRace
	case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
		return Panic
	}
	return ""
}

// isUsual: the line is one that each package prints whose tests have ended.
func isUsual(line string) bool {
	line = strings.TrimSpace(line)
	switch line {
	case "", "PASS", "FAIL", "exit status 1":
		return true
	}
	for _, prefix := range []string{"FAIL\t", "ok  \t", "?   \t", "coverage:", "testing: warning: no tests to run"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// add counts a package's tests and names its failures.
func (r *Report) add(path string, p *packageRun) {
	ofTests := 0
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		t := p.tests[name]
		cause := t.cause
		if cause == "" && t.action == "" {
			cause = BrokenOff
		}
		switch {
		case t.action == "pass" && cause != DataRace: // what a test passes with may look like a panic
			r.Passed++
		case t.action == "skip" && cause != DataRace:
			r.Skipped++
		default:
			ofTests++
			r.Failures = append(r.Failures, Failure{path, name, cause, t.output, t.at})
		}
		r.Times = append(r.Times, Timed{path, name, time.Duration(t.elapsed * float64(time.Second))})
	}
	if cause := p.beyond(ofTests); cause != "" {
		r.Failures = append(r.Failures, Failure{path, "", cause, p.output, p.at})
	}
}

// beyond is why a package has failed beyond so many failed tests of its own; empty where it has not.
func (p *packageRun) beyond(failedTests int) Cause {
	switch {
	case p.action == "":
		return NotRun
	case p.action != "fail":
		return ""
	case p.cause != "":
		return p.cause
	case failedTests == 0:
		return BeyondTests
	case !p.said:
		return BrokenOff
	}
	return ""
}
