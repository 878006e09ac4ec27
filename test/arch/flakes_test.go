package arch

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// settled is a cause after which the test may fail anew.
var settled = regexp.MustCompile(`^(mended [0-9a-f]{7,}|night)\b`)

// row is a line of the table that is not its head.
var row = regexp.MustCompile(`^\| *[0-9]`)

// flakyTwice finds the tests that stand in docs/FLAKES.md more than once without a settled cause.
func flakyTwice(page string) (found []string) {
	open := map[string]int{}
	for line := range strings.Lines(page) {
		if !row.MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			found = append(found, "not a row of four cells: "+strings.TrimSpace(line))
			continue
		}
		test, cause := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		if settled.MatchString(cause) {
			continue
		}
		if open[test]++; open[test] == 2 {
			found = append(found, fmt.Sprintf("%s failed twice for no known reason: mend it, or move it to the night", test))
		}
	}
	return found
}

// TestNoTestIsFlakyTwice: a test that load can fail may do so once.
func TestNoTestIsFlakyTwice(t *testing.T) {
	page, err := os.ReadFile("../../docs/FLAKES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range flakyTwice(string(page)) {
		t.Error(what)
	}
	const head = "| date | test | commit | cause |\n|---|---|---|---|\n"
	const line = "| 2026-11-26 | torno/a TestX | 0123abcd | "
	for rows, want := range map[string]int{
		line + "one night |\n" + line + "failed at night |\n":   1,
		"| 2026-11-26 | torno/a TestX |\n":                      1,
		line + "not known |\n":                                  0,
		line + "not known |\n" + line + "not known |\n":         1,
		line + "mended 89abcdef |\n" + line + "not known |\n":   0,
		line + "night |\n" + line + "not known |\n":             0,
		line + "mended later |\n" + line + "a slow machine |\n": 1,
	} {
		if found := flakyTwice(head + rows); len(found) != want {
			t.Errorf("%q: %v", rows, found)
		}
	}
}
