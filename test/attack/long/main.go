// Command long runs every test that docs/THREATS.md names, at length, and prints what they recorded as one table. It is
// what `make attack` runs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"torno/test/attack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
	}
	os.Exit(code)
}

// run returns 1 when a test failed or a table could not be made.
func run(ctx context.Context) (code int, err error) {
	page, err := attack.ReadPage()
	if err != nil {
		return 1, err
	}
	reports, err := os.MkdirTemp("", "torno-attack-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(reports)
	packages := testsOf(page)
	for i, p := range packages {
		fmt.Printf("(%d/%d) %s: %d tests\n", i+1, len(packages), p.dir, len(p.names))
		if err := p.run(ctx, reports); err != nil {
			fmt.Fprintln(os.Stderr, "attack:", err)
			code = 1
		}
	}
	trials, err := attack.Reports(reports)
	if err != nil {
		return 1, err
	}
	fmt.Println()
	if !attack.Print(os.Stdout, page, trials) {
		code = 1
	}
	return code, nil
}

// tests are those of one package.
type tests struct {
	dir   string
	names []string
}

// testsOf are the tests that a page names, by package.
func testsOf(page attack.Page) (all []tests) {
	for _, row := range page.Rows {
		for _, test := range row.Tests {
			i := slices.IndexFunc(all, func(p tests) bool { return p.dir == test.Dir })
			if i < 0 {
				all, i = append(all, tests{dir: test.Dir}), len(all)
			}
			if !slices.Contains(all[i].names, test.Name) {
				all[i].names = append(all[i].names, test.Name)
			}
		}
	}
	slices.SortFunc(all, func(a, b tests) int { return strings.Compare(a.dir, b.dir) })
	return all
}

func (p tests) run(ctx context.Context, reports string) error {
	pattern := "^(" + strings.Join(p.names, "|") + ")$"
	command := exec.CommandContext(ctx, "go", "test", "-race", "-count=1", "-timeout", "60m", "-run", pattern, "./"+p.dir)
	command.Dir = attack.Root()
	command.Env = append(attack.LongEnvironment(reports), "CI=true", "GORACE=atexit_sleep_ms=0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("the tests of %s: %w", p.dir, err)
	}
	return nil
}
