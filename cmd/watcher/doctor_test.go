package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"torno/internal/doctor"
	"torno/sandbox"
)

// TestEveryFindingIsExplained holds the page for operators against the list of checks, both ways.
func TestEveryFindingIsExplained(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/OPERATIONS.md"), "## Examining the machine")
	section, _, _ = strings.Cut(section, "\n## ")
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(section, -1) {
		explained = append(explained, row[1])
	}
	for _, name := range doctor.Names() {
		if !slices.Contains(explained, name) {
			t.Errorf("%s is not explained", name)
		}
	}
	for _, name := range explained {
		if !slices.Contains(doctor.Names(), name) {
			t.Errorf("%s is explained and never found", name)
		}
	}
	for _, verdict := range []doctor.Verdict{doctor.OK, doctor.Warn, doctor.Bad, doctor.Unknown} {
		if !strings.Contains(section, "`"+string(verdict)+"`") {
			t.Errorf("the verdict %s is not explained", verdict)
		}
	}
	for _, key := range sandbox.Acceptable {
		if help := said(t, "help", "run"); !strings.Contains(help, string(key)) {
			t.Errorf("nobody learns that %s can be accepted", key)
		}
	}
}

func TestFindingsAreLines(t *testing.T) {
	rows := findingRows(doctor.Finding{
		Name: "n", Verdict: doctor.Bad, Seen: "a\x1b[2Jb\nc", Means: "m", Do: "d", Refuses: true, Accept: "--accept pids",
	})
	var lines []string
	for _, row := range rows {
		lines = append(lines, row[len(row)-1].Text)
	}
	want := []string{`a\x1b[2Jb c`, "m", "watcher run does not start with it", "→ d", "→ or accept less: --accept pids"}
	if !slices.Equal(lines, want) {
		t.Errorf("it is shown as %q", lines)
	}
	if rows := findingRows(doctor.Finding{Verdict: doctor.OK, Seen: "s", Means: "m"}); len(rows) != 1 || rows[0][2].Text != "s; m" {
		t.Errorf("what is well is shown as %v", rows)
	}
}
