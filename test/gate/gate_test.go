package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPlantedDefects: of the defects in testdata/planted only the plain test that fails once is forgiven. A retry of failed tests alone would forgive most of
// them: they show themselves once, or no test of theirs fails.
func TestPlantedDefects(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: each defect is compiled and run")
	}
	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(filepath.Join(sources, "scripts/need"), "cc").Run(); err != nil {
		t.Skip("NOT SHOWN HERE: the race detector needs a C compiler")
	}
	for _, c := range []struct {
		pkg   string
		red   bool
		cause Cause
		again int // tests that ran again
	}{
		{"fine", false, "", 0},
		{"flaky", false, "", 1},
		{"leak", true, BeyondTest, 0},
		{"race", true, DataRace, 1},
		{"panics", true, Panic, 1},
		{"timeout", true, Panic, 1},
		{"testmain", true, BeyondTest, 0},
		{"story", true, "", 1},
		{"many", true, "", 0},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			t.Setenv("PLANTED", t.TempDir())
			var said strings.Builder
			g := &Gate{Checkout: filepath.Join(sources, "test/gate/testdata/planted"), Sources: sources, Logs: t.TempDir(), Out: &said, load: &loadLog{}}
			if c.pkg == "timeout" {
				g.Flags = []string{"-timeout=2s"}
			}
			o, err := g.Run(t.Context(), Stage{Name: c.pkg, Parallel: 1}, []string{"./" + c.pkg})
			if err != nil {
				t.Fatal(err)
			}
			var cause Cause
			for _, f := range o.Report.Failures {
				if f.Cause != "" {
					cause = f.Cause
				}
			}
			if o.Red != c.red || cause != c.cause || len(o.Again) != c.again {
				t.Errorf("red %t, cause %q, %d ran again; want %t, %q, %d\n%s", o.Red, cause, len(o.Again), c.red, c.cause, c.again, said.String())
			}
			for _, kind := range []string{".json", ".xml"} {
				if info, err := os.Stat(filepath.Join(g.Logs, c.pkg+kind)); err != nil || info.Size() == 0 {
					t.Errorf("no %s was kept: %v", kind, err)
				}
			}
		})
	}
}

// TestJudge has what testdata/planted cannot: a package by its name, and go test disagreeing with its own events.
func TestJudge(t *testing.T) {
	plain := Failure{Package: "torno/internal/retry", Test: "TestX"}
	for name, c := range map[string]struct {
		failures []Failure
		ok, red  bool
		again    int
	}{
		"nothing":             {nil, true, false, 0},
		"a plain test":        {[]Failure{plain}, false, false, 1},
		"three":               {[]Failure{plain, plain, plain}, false, false, 3},
		"four":                {[]Failure{plain, plain, plain, plain}, false, true, 0},
		"the wall":            {[]Failure{{Package: "torno/sandbox/docker", Test: "TestX"}}, false, true, 1},
		"the journal":         {[]Failure{{Package: "torno/internal/journal", Test: "TestX"}}, false, true, 1},
		"no failure, not ok":  {nil, false, true, 0},
		"a failure, and ok":   {[]Failure{plain}, true, true, 1},
		"a package":           {[]Failure{{Package: plain.Package, Cause: BeyondTest}}, false, true, 0},
		"a race beside plain": {[]Failure{plain, {Package: plain.Package, Test: "TestY", Cause: DataRace}}, false, true, 2},
	} {
		if v := Judge(c.failures, c.ok); v.Red != c.red || len(v.Again) != c.again {
			t.Errorf("%s: red %t, %d again", name, v.Red, len(v.Again))
		}
	}
}

// TestReadABrokenRun: a test without an end has failed, and so has a package that does not compile.
func TestReadABrokenRun(t *testing.T) {
	r, err := Read(strings.NewReader(`{"Action":"run","Package":"torno/a","Test":"TestExits"}
{"Action":"output","Package":"torno/a","Test":"TestExits","Output":"bye\n"}
{"Action":"fail","Package":"torno/a"}
not JSON
{"Action":"fail","Package":"torno/b","FailedBuild":"torno/b"}
{"Action":"pass","Package":"torno/c","Test":"TestFine/sub"}
{"Action":"pass","Package":"torno/c","Test":"TestFine"}
`))
	if err != nil || r.Passed != 1 || r.Failed != 2 || len(r.Failures) != 2 || r.Failures[0].Cause != BrokenOff || r.Failures[1].Cause != NoBuild {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestThePrintedEnd: what is forgiven counts as passed, stands in the table with its load, and has its line for docs/FLAKES.md.
func TestThePrintedEnd(t *testing.T) {
	day := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	forgiven := Repeated{Failure{Package: "torno/a", Test: "TestX", Output: []string{"=== RUN TestX\n", "    a.go:1: late\n"}}, repeats, "load 9.1"}
	o := Outcome{Stage: "plain", Report: Report{Passed: 2, Failed: 1, Failures: []Failure{forgiven.Failure}}, Again: []Repeated{forgiven}}
	var out strings.Builder
	if Print(&out, []Outcome{o}, "abc", day) {
		t.Error("it is red")
	}
	for _, want := range []string{"passed only when run again", "load 9.1", "a.go:1: late", "| 2026-11-26 | torno/a TestX | abc | not known |", "\n3 passed, 0 failed\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if o.Red = true; !Print(&out, []Outcome{o}, "abc", day) || !strings.HasSuffix(out.String(), "\n2 passed, 1 failed\n") {
		t.Errorf("red, it prints\n%s", out.String())
	}
}

// TestStagesNameWhatIsThere: each package and test of the table exists, and none belongs to two stages by its name.
func TestStagesNameWhatIsThere(t *testing.T) {
	seen := map[string]string{}
	for suite, stages := range suites {
		for _, s := range stages {
			for _, p := range s.Packages {
				dir := strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/...")
				if _, err := os.Stat(filepath.Join("../..", dir)); err != nil {
					t.Errorf("%s %s: %v", suite, s.Name, err)
				}
				if other, twice := seen[p]; twice && len(s.Tests) == 0 {
					t.Errorf("%s belongs to %s and to %s", p, other, s.Name)
				}
				if len(s.Tests) == 0 {
					seen[p] = s.Name
				}
			}
		}
	}
	for _, name := range measures {
		if out, err := exec.Command("git", "-C", "../..", "grep", "-qE", "^func "+name+`\(`, "--", "*_test.go").CombinedOutput(); err != nil {
			t.Errorf("no test is called %s: %v %s", name, err, out)
		}
	}
}

// TestLoadAt: a failure is told with the load that was noted before it.
func TestLoadAt(t *testing.T) {
	var l loadLog
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l.Watch(ctx); l.at(time.Now()) == "not known" && len(l.seen) != 1 {
		t.Errorf("nothing was noted: %+v", l.seen)
	}
	if before := l.at(time.Now().Add(-time.Hour)); before != "not known" {
		t.Errorf("an hour ago it was %q", before)
	}
}
