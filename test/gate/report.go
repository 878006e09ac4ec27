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
	Passed, Failed, Skipped int // test functions; their subtests are not counted
	Failures                []Failure
	Times                   []Timed // of test functions
}

// Timed is a test and how long it took.
type Timed struct {
	Package, Test string
	Took          time.Duration
}

// Failure is a test function that failed, or a package that failed beyond its tests.
type Failure struct {
	Package, Test string // Test is empty where the package failed
	Cause         Cause
	Output        []string
	At            time.Time
}

// Cause is why a failure is red whatever comes of it later. An ordinary failed test has none.
type Cause string

const (
	DataRace   Cause = "a data race"
	Panic      Cause = "a panic or a time-out"
	BrokenOff  Cause = "the test binary ended in the middle of a test"
	NoBuild    Cause = "the package does not compile"
	BeyondTest Cause = "the package failed, and none of its tests did"
)

// kept bounds the lines of a failure's output that are kept.
const kept = 4000

// packageRun collects the events of one package.
type packageRun struct {
	tests  map[string]*testRun
	output []string
	failed bool
	build  bool
	at     time.Time
}

type testRun struct {
	action  string // pass, fail, skip; empty while it runs
	elapsed float64
	output  []string
	at      time.Time
}

// Read reads the events of a run. Lines that are not JSON are passed over: gotestsum has printed them.
func Read(events io.Reader) (Report, error) {
	packages := map[string]*packageRun{}
	lines := bufio.NewReaderSize(events, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Package != "" {
			p := packages[e.Package]
			if p == nil {
				p = &packageRun{tests: map[string]*testRun{}}
				packages[e.Package] = p
			}
			p.take(e)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Report{}, fmt.Errorf("read the events of go test: %w", err)
		}
	}
	var r Report
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		r.add(path, packages[path])
	}
	return r, nil
}

func (p *packageRun) take(e event) {
	root, sub, _ := strings.Cut(e.Test, "/")
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output = keep(p.output, e.Output)
		case "fail":
			p.failed, p.build, p.at = true, e.FailedBuild != "", e.Time
		}
		return
	}
	t := p.tests[root]
	if t == nil {
		t = &testRun{}
		p.tests[root] = t
	}
	switch e.Action {
	case "output":
		t.output = keep(t.output, e.Output)
	case "pass", "fail", "skip":
		if sub == "" {
			t.action, t.elapsed, t.at = e.Action, t.elapsed+e.Elapsed, e.Time
		}
	}
}

func keep(lines []string, line string) []string {
	if len(lines) == kept {
		lines = lines[kept/2:]
	}
	return append(lines, line)
}

// add counts a package's tests and names its failures.
func (r *Report) add(path string, p *packageRun) {
	ofTests := 0
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		t := p.tests[name]
		switch t.action {
		case "pass":
			r.Passed++
		case "skip":
			r.Skipped++
		default:
			r.Failed++
			ofTests++
			r.Failures = append(r.Failures, Failure{path, name, t.cause(), t.output, t.at})
		}
		r.Times = append(r.Times, Timed{path, name, time.Duration(t.elapsed * float64(time.Second))})
	}
	if !p.failed {
		return
	}
	cause := textCause(p.output)
	switch {
	case p.build:
		cause = NoBuild
	case cause == "" && ofTests == 0:
		cause = BeyondTest
	case cause == "":
		return // its failed tests say it all
	}
	r.Failed++
	r.Failures = append(r.Failures, Failure{path, "", cause, p.output, p.at})
}

func (t *testRun) cause() Cause {
	if cause := textCause(t.output); cause != "" {
		return cause
	}
	if t.action == "" {
		return BrokenOff
	}
	return ""
}

// textCause finds a cause in what a test binary printed. Programs that a test starts say the same words, so a race counts wherever it stands.
func textCause(output []string) Cause {
	for _, line := range output {
		switch {
		case strings.Contains(line, "WARNING: DATA RACE"), strings.Contains(line, "race detected during execution of test"):
			return DataRace
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "):
			return Panic
		}
	}
	return ""
}
