package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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
		{"leak", true, BeyondTests, 0},
		{"race", true, DataRace, 0},
		{"example", true, DataRace, 0},
		{"panics", true, Panic, 0},
		{"timeout", true, Panic, 0},
		{"exits", true, BrokenOff, 0},
		{"testmain", true, BeyondTests, 0},
		{"leftover", true, BeyondTests, 1},
		{"nobuild", true, NoBuild, 0},
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
			o, err := g.Run(t.Context(), Stage{Name: c.pkg, Parallel: 1}, []string{"planted/" + c.pkg})
			if err != nil {
				t.Fatal(err)
			}
			causes := []Cause{}
			for _, f := range o.Report.Failures {
				causes = append(causes, f.Cause)
			}
			asWanted := slices.Contains(causes, c.cause) || c.cause == "" && len(causes) == 0
			if o.Red != c.red || !asWanted || len(o.Again) != c.again {
				t.Errorf("red %t, %+v, %d ran again; want %t, %q, %d\n%s", o.Red, o.Report.Failures, len(o.Again), c.red, c.cause, c.again, said.String())
			}
			for _, kind := range []string{".json", ".xml"} {
				if info, err := os.Stat(filepath.Join(g.Logs, c.pkg+kind)); err != nil || info.Size() == 0 {
					t.Errorf("no %s was kept: %v", kind, err)
				}
			}
		})
	}
}

// TestFresh: a test that fails once in a while does not get in, and it is said how often the others ran.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: each test is compiled and run")
	}
	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(filepath.Join(sources, "scripts/need"), "cc").Run(); err != nil {
		t.Skip("NOT SHOWN HERE: the race detector needs a C compiler")
	}
	for pkg, c := range map[string]struct {
		test string
		err  error
		said string
	}{
		"./fine":  {"TestFine", nil, "./fine: TestFine: passed 20 times beside 0 busy loops"},
		"./flaky": {"TestOnceRed", errRed, "./flaky: TestOnceRed: FAILED"},
		"./race":  {"TestRacesOnce", errRed, "./race: TestRacesOnce: FAILED"},
	} {
		t.Setenv("PLANTED", t.TempDir())
		var said strings.Builder
		g := &Gate{Checkout: filepath.Join(sources, "test/gate/testdata/planted"), Sources: sources, Out: &said}
		if err := g.Fresh(t.Context(), map[string][]string{pkg: {c.test}}); !errors.Is(err, c.err) || !strings.Contains(said.String(), c.said) {
			t.Errorf("%s: %v, want %v\n%s", pkg, err, c.err, said.String())
		}
	}
}

// TestWhatIsFresh: freshTests finds a test in which a line was changed or removed, and the tests of a file that git does not know yet.
func TestWhatIsFresh(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT SHOWN HERE: there is no git")
	}
	for _, variable := range os.Environ() { // a hook of git's may have set some
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if _, err := gitIn(t.Context(), dir, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("package p\n\n"+text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const same = "func TestSame(t *testing.T) {\n\tt.Log(1)\n}\n\n"
	git("init", "--quiet")
	put("p/p_test.go", same+"func TestChanged(t *testing.T) {\n\tt.Log(1)\n}\n\nfunc TestShorter(t *testing.T) {\n\tt.Log(1)\n\tt.Log(2)\n}\n\nfunc helper() {}\n")
	put("p/gone_test.go", "func TestGone(t *testing.T) {}\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	put("p/p_test.go", same+"func TestChanged(t *testing.T) {\n\tt.Log(3)\n}\n\nfunc TestShorter(t *testing.T) {\n\tt.Log(1)\n}\n\nfunc helper() { println() }\n\nfunc TestMain(m *testing.M) {}\n")
	put("q/new_test.go", "func TestNew(t *testing.T) {}\n\nfunc TestAnIdleWatcherIsSmall(t *testing.T) {}\n")
	put("q/testdata/planted/new_test.go", "func TestPlanted(t *testing.T) {}\n")
	if err := os.Remove(filepath.Join(dir, "p/gone_test.go")); err != nil {
		t.Fatal(err)
	}
	found, err := freshTests(t.Context(), dir, "HEAD")
	if want := map[string][]string{"./p": {"TestChanged", "TestShorter"}, "./q": {"TestNew"}}; err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, %v; want %v", found, err, want)
	}
}

// TestJudge has what testdata/planted cannot: a package by its name.
func TestJudge(t *testing.T) {
	plain := Failure{Package: "torno/internal/retry", Test: "TestX"}
	for name, c := range map[string]struct {
		failures []Failure
		red      bool
		again    int
	}{
		"nothing":             {nil, false, 0},
		"a plain test":        {[]Failure{plain}, false, 1},
		"three":               {[]Failure{plain, plain, plain}, false, 3},
		"four":                {[]Failure{plain, plain, plain, plain}, true, 0},
		"the wall":            {[]Failure{{Package: "torno/sandbox/docker", Test: "TestX"}}, true, 1},
		"the journal":         {[]Failure{{Package: "torno/internal/journal", Test: "TestX"}}, true, 1},
		"a package":           {[]Failure{{Package: plain.Package, Cause: BeyondTests}}, true, 0},
		"a race beside plain": {[]Failure{plain, {Package: plain.Package, Test: "TestY", Cause: DataRace}}, true, 1},
	} {
		if v := Judge(c.failures); v.Red != c.red || len(v.Again) != c.again {
			t.Errorf("%s: red %t, %d again", name, v.Red, len(v.Again))
		}
	}
}

// TestWhatIsNotRunFails: go test is killed before it comes to a package, or in the middle of one, or says nothing at all.
func TestWhatIsNotRunFails(t *testing.T) {
	g := &Gate{Checkout: t.TempDir(), Sources: t.TempDir(), Logs: t.TempDir(), Out: io.Discard, load: &loadLog{}}
	o, err := g.Run(t.Context(), Stage{Name: "plain"}, []string{"torno/a"}) // there is no gotestsum
	if err != nil || !o.Red {
		t.Errorf("without any event: red %t, %v", o.Red, err)
	}
	const flaky = `{"Action":"fail","Package":"torno/a","Test":"TestX"}
{"Action":"output","Package":"torno/a","Output":"FAIL\n"}
{"Action":"fail","Package":"torno/a"}
`
	for name, c := range map[string]struct {
		events string
		want   []Cause
	}{
		"all ran":           {flaky + `{"Action":"pass","Package":"torno/b"}`, []Cause{""}},
		"one never came":    {flaky, []Cause{"", NotRun}},
		"one has no end":    {flaky + `{"Action":"run","Package":"torno/b","Test":"TestY"}`, []Cause{"", BrokenOff, NotRun}},
		"killed in between": {strings.Replace(flaky, `{"Action":"output","Package":"torno/a","Output":"FAIL\n"}`, "", 1) + `{"Action":"skip","Package":"torno/b"}`, []Cause{"", BrokenOff}},
		"nothing":           {"not JSON\n", []Cause{NotRun, NotRun}},
	} {
		r, err := Read(strings.NewReader(c.events), []string{"torno/a", "torno/b"})
		var causes []Cause
		for _, f := range r.Failures {
			causes = append(causes, f.Cause)
		}
		if err != nil || !slices.Equal(causes, c.want) {
			t.Errorf("%s: %q, %v", name, causes, err)
		}
	}
}

// TestACauseIsFoundInALongOutput: what is kept of an output is bounded, and the cause stood at its beginning.
func TestACauseIsFoundInALongOutput(t *testing.T) {
	var events strings.Builder
	line := func(text string) {
		fmt.Fprintf(&events, `{"Action":"output","Package":"torno/a","Test":"TestX/sub","Output":%q}`+"\n", text)
	}
	line("WARNING: DATA RACE\n")
	for range 2 * keptLines {
		line("more\n")
	}
	events.WriteString(`{"Action":"fail","Package":"torno/a","Test":"TestX"}`)
	r, err := Read(strings.NewReader(events.String()), nil)
	if err != nil || len(r.Failures) != 2 || r.Failures[0].Cause != DataRace || len(r.Failures[0].Output) > keptLines {
		t.Errorf("%d failures, %v", len(r.Failures), err)
	}
}

// TestThePrintedEnd: what is forgiven counts as passed, stands in the table with its load, and has its line for docs/FLAKES.md.
func TestThePrintedEnd(t *testing.T) {
	day := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	forgiven := Repeated{Failure{Package: "torno/a", Test: "TestX", Output: []string{"=== RUN TestX\n", "    a.go:1: late\n"}}, repeats, "load 9.1"}
	o := Outcome{Stage: "plain", Report: Report{Passed: 2, Failures: []Failure{forgiven.Failure}}, Again: []Repeated{forgiven}}
	var out strings.Builder
	if Print(&out, []Outcome{o}, "abc", day) {
		t.Error("it is red")
	}
	if strings.Contains(out.String(), "FAIL") {
		t.Errorf("what is forgiven is told as a failure:\n%s", out.String())
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

// TestEachPackageHasOneStage: every package of the sources is run by one stage, and what the tables name is there.
func TestEachPackageHasOneStage(t *testing.T) {
	g := &Gate{Checkout: "../..", Out: io.Discard}
	all, err := g.list(t.Context(), "./...")
	if err != nil {
		t.Fatal(err)
	}
	rest := otherPackages(all)
	for _, path := range all {
		if owners := ownersOf(path); len(owners) > 1 || (len(owners) == 0) != slices.Contains(rest, path) {
			t.Errorf("%s belongs to the stages %v", path, owners)
		}
	}
	for _, stages := range suites {
		for _, s := range stages {
			if len(s.Packages) == 0 {
				continue
			}
			if _, err := g.list(t.Context(), s.Packages...); err != nil {
				t.Errorf("stage %s: %v", s.Name, err)
			}
		}
	}
	for _, pattern := range strict {
		if !slices.ContainsFunc(all, func(path string) bool { return matches(pattern, strings.TrimPrefix(path, "torno/")) }) {
			t.Errorf("strict names %s, which is not there", pattern)
		}
	}
}

// TestANightGoesOn: what was green on a commit is known, until it is red.
func TestANightGoesOn(t *testing.T) {
	n, now := nights(t.TempDir()), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	green := Outcome{Stage: "units", Took: 90 * time.Second, Report: Report{Passed: 7}}
	if said := n.green("units"); said != "" {
		t.Errorf("before it ran: %q", said)
	}
	if err := n.keep(green, now); err != nil {
		t.Fatal(err)
	}
	if said := n.green("units"); said != "2026-01-02T03:04:05Z, in 1m30s: 7 passed" || n.green("soak") != "" {
		t.Errorf("it is said %q", said)
	}
	for range 2 {
		if err := n.keep(Outcome{Stage: "units", Red: true}, now); err != nil || n.green("units") != "" {
			t.Errorf("it is red: %v", err)
		}
	}
	var none nights
	if err := none.keep(green, now); err != nil || none.green("units") != "" {
		t.Errorf("a checkout with changes is kept: %v", err)
	}
}

// TestWhatAChangeNeeds, and each file that the table names is there.
func TestWhatAChangeNeeds(t *testing.T) {
	for file, want := range map[string]string{
		"contrib/systemd/torno-watcher.service": "units installed", "README.md": "pages", "docs/MCP.md": "pages", "internal/mounts/slot.go": "racer", "watcher/live.go": "", "scripts": "pages",
	} {
		if got := strings.Join(needed([]string{"go.mod", file}), " "); got != want {
			t.Errorf("%s needs %q, want %q", file, got, want)
		}
	}
	for _, s := range suites["night"] {
		for _, file := range s.Files {
			if _, err := os.Stat("../../" + file); err != nil {
				t.Errorf("stage %s: %v", s.Name, err)
			}
		}
	}
}

// TestMeasuresAreWhereTheyRun: each test that has a name of a stage of single tests is in the stage's packages, since it runs nowhere else.
func TestMeasuresAreWhereTheyRun(t *testing.T) {
	places := map[string][]string{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			places[found[1]] = append(places[found[1]], "./"+strings.TrimPrefix(filepath.Dir(path), "../../"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, stages := range suites {
		for _, s := range stages {
			for _, name := range s.Tests {
				in := places[name]
				elsewhere := func(place string) bool { return !slices.Contains(s.Packages, place) }
				if len(in) == 0 || slices.ContainsFunc(in, elsewhere) {
					t.Errorf("%s stands in %v; the stage %s has %v", name, in, s.Name, s.Packages)
				}
			}
		}
	}
}

// TestSteal: what the host of a machine gives to others is the eighth number of a processor's time.
func TestSteal(t *testing.T) {
	if got := spentIn([]byte("cpu  10 1 5 80 2 1 1 25 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n")); got != (spent{all: 125, stolen: 25}) {
		t.Errorf("it is %+v", got)
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

// TestAGreenRunIsRecorded, and a red one is not.
func TestAGreenRunIsRecorded(t *testing.T) {
	var out strings.Builder
	outcomes := []Outcome{
		{Stage: "a", Took: 90 * time.Second, Report: Report{Passed: 3}},
		{Stage: "b", Took: 30 * time.Second, Report: Report{Passed: 4}, Again: []Repeated{{}}},
	}
	PrintRecord(&out, outcomes, "abc", time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), 3.14)
	if want := "\nfor docs/GATE.md: | 2026-11-28 | abc | 2m0s (1m30s, 30s) | 8 | 1 | 3.1 |\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	outcomes[1].Red = true
	if PrintRecord(&out, outcomes, "abc", time.Now(), 0); out.Len() > 0 {
		t.Errorf("of a red run: %q", out.String())
	}
}
