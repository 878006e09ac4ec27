package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// These bound how often Fresh runs a test: freshMost times if freshTime is enough for all tests, and freshLeast times in any case.
const (
	freshMost  = 20
	freshLeast = 5
	freshTime  = 10 * time.Minute
)

// Fresh runs tests again and again, while g.Busy goroutines keep processors busy. tests has the names of tests by directory. Fresh returns an error if a
// test failed.
func (g *Gate) Fresh(ctx context.Context, tests map[string][]string) error {
	if len(tests) == 0 {
		fmt.Fprintln(g.Out, "gate: no test function is new or changed; files in testdata, and tests that a stage of the night names, are not looked at")
		return nil
	}
	busy, rest := context.WithCancel(ctx)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer rest()
	for range g.Busy {
		loops.Go(func() {
			for busy.Err() == nil { //nolint:revive // it only keeps a processor busy
			}
		})
	}
	failed := false
	for i, dir := range slices.Sorted(maps.Keys(tests)) {
		pkg, err := g.list(ctx, dir)
		if err != nil {
			return err
		}
		fault, once := g.freshRun(ctx, pkg[0], tests[dir], 1)
		share := freshTime / time.Duration(len(tests))
		times := min(max(int(share/max(once, time.Millisecond)), freshLeast), freshMost)
		if fault == "" {
			fault, _ = g.freshRun(ctx, pkg[0], tests[dir], times-1)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		word := cmp.Or(fault, fmt.Sprintf("passed %d times beside %d busy loops", times, g.Busy))
		failed = failed || fault != ""
		fmt.Fprintf(g.Out, "gate: %d of %d, %s: %s: %s\n", i+1, len(tests), dir, strings.Join(tests[dir], ", "), word)
	}
	if failed {
		return errRed
	}
	return nil
}

// freshRun runs tests of a package several times, and prints what failed. fault is "" if each test passed each time. spent is the time of the tests, without
// compiling.
func (g *Gate) freshRun(ctx context.Context, pkg string, tests []string, times int) (fault string, spent time.Duration) {
	var events bytes.Buffer
	code, err := g.command(ctx, Stage{Engine: true}, &events, filepath.Join(g.Sources, "scripts/gotest"), slices.Concat(
		[]string{"-json", "-vet=off", "-timeout=40m", "-failfast", fmt.Sprintf("-count=%d", times), "-run=" + onlyThese(tests)}, g.Flags, []string{pkg})...)
	report, readErr := Read(&events, []string{pkg})
	for _, f := range report.Failures {
		fmt.Fprintln(g.Out, f.Cause, strings.Join(f.Output, ""))
		if f.Cause == NoBuild {
			fmt.Fprintln(g.Out, "gate: go vet", pkg, "shows what does not compile")
		}
	}
	for _, t := range report.Times {
		spent += t.Took
	}
	switch err := cmp.Or(err, readErr); {
	case err != nil:
		fmt.Fprintln(g.Out, "gate:", err)
		return "FAILED", spent
	case code != 0 || len(report.Failures) > 0:
		return "FAILED", spent
	case report.Skipped > 0:
		return "SKIPPED, so nothing is shown", spent
	}
	return "", spent
}

// freshTests finds the tests of a checkout that were written or changed since a commit, and returns them by directory. It leaves out the tests that a stage of the night names.
func freshTests(ctx context.Context, checkout, since string) (map[string][]string, error) {
	diff, err := gitIn(ctx, checkout, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--diff-filter=d", "--dst-prefix=b/", since, "--", "*_test.go")
	if err != nil {
		return nil, err
	}
	untracked, err := gitIn(ctx, checkout, "ls-files", "--others", "--exclude-standard", "--", "*_test.go")
	if err != nil {
		return nil, err
	}
	touched := touchedLines(diff)
	for _, file := range strings.Fields(untracked) {
		touched[file] = []lines{{1, 1 << 30}}
	}
	found := map[string][]string{}
	for file, changed := range touched {
		if strings.Contains(file, "testdata/") {
			continue
		}
		names, err := testsAt(filepath.Join(checkout, file), changed)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			pkg := "./" + path.Dir(file)
			found[pkg] = append(found[pkg], names...)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found, nil
}

// gitIn returns what git prints in a directory.
func gitIn(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(text), nil
}

// lines is a part of a file. The last line belongs to it.
type lines struct{ first, last int }

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// touchedLines returns the lines that a diff without context adds or changes, by file. Where lines were only taken away, it is the line before them.
func touchedLines(diff string) map[string][]lines {
	touched, file := map[string][]lines{}, ""
	for line := range strings.Lines(diff) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); is {
			file = name
		}
		if at := hunk.FindStringSubmatch(line); at != nil {
			first, _ := strconv.Atoi(at[1])
			count, _ := strconv.Atoi(cmp.Or(at[2], "1"))
			touched[file] = append(touched[file], lines{first, first + max(count, 1) - 1})
		}
	}
	return touched
}

// testsAt returns the tests in a file that have one of these lines.
func testsAt(file string, changed []lines) (names []string, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" || slices.Contains(named(), f.Name.Name) {
			continue
		}
		first, last := set.Position(f.Pos()).Line, set.Position(f.End()).Line
		if slices.ContainsFunc(changed, func(l lines) bool { return l.first <= last && first <= l.last }) {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
