package work

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"torno/test/attack"
)

// slack is the part by which a count may be above the file's: what a run meets differs a little from one to the next.
const slack = 25

// Bound is the most that something may be counted to.
func Bound(t testing.TB, what string) int {
	t.Helper()
	counts, err := read()
	if err != nil {
		t.Fatal(err)
	}
	counted, known := counts[what]
	if !known {
		t.Fatalf("%s has no line for %q", file(), what)
	}
	return counted + counted/slack
}

// Hold fails when something was counted to more than the file says.
func Hold(t testing.TB, what string, counted int) {
	t.Helper()
	t.Logf("%s: %d", what, counted)
	switch most := Bound(t, what); {
	case counted > most:
		t.Errorf("%s: %d, where %d are allowed. If the run is worth more work now, say so in %s.", what, counted, most, file())
	case counted < most*(slack-2)/(slack+1):
		t.Logf("%s may be lowered to %d in %s", what, counted, file())
	}
}

func file() string { return filepath.Join(attack.Root(), "test", "work", "counts.txt") }

// read reads lines of words and a number.
func read() (map[string]int, error) {
	f, err := os.Open(file())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		last := len(fields) - 1
		counted, err := strconv.Atoi(fields[last])
		if err != nil {
			return nil, fmt.Errorf("%s: %q does not end in a number", file(), lines.Text())
		}
		counts[strings.Join(fields[:last], " ")] = counted
	}
	return counts, nil
}
