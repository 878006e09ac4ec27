package mcp

import (
	"strings"
	"testing"
)

// TestACellIsNotLeft: whatever a child has written, a row of a table stays a row with as many cells.
func TestACellIsNotLeft(t *testing.T) {
	for _, text := range []string{"a | b", `a \| b`, `a \\| b`, "a\n| b |", "a\r| b", lie, strings.Repeat("|", 200), strings.Repeat("\u202e", 200)} {
		page := (&Desk{}).Page()
		page.Printf("| ")
		page.Cell(text, 100)
		page.Printf(" |\n")
		row, _, _ := strings.Cut(page.say(), "\n\n"+notePage)
		if strings.Count(row, "|") != 2 || strings.ContainsAny(row, "\n\r") || !strings.HasPrefix(row, "| untrusted: ") {
			t.Errorf("%q: %q", text, row)
		}
		wantPlain(t, row)
	}
}

// TestCellsAreBounded as they stand on the page: what is written in the place of a bar counts.
func TestCellsAreBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("|", 200), strings.Repeat("\u202e", 200), strings.Repeat("\U000e0041|", 100), strings.Repeat(`\u{`, 100)} {
		page := (&Desk{}).Page()
		for range 1000 {
			page.Cell(text, 100)
		}
		row, _, _ := strings.Cut(page.say(), "\n\n"+notePage)
		if n := sizeInJSON(strings.ReplaceAll(row, "untrusted: ", "")); n > maxAnswers || n < maxAnswers/2 {
			t.Errorf("%.10q: %d bytes of a stranger", text, n)
		}
	}
}

// TestAPageIsBounded: strangers' text takes so much room on a page, however often it is shown.
func TestAPageIsBounded(t *testing.T) {
	page := (&Desk{}).Page()
	for range 1000 {
		page.Quote(strings.Repeat("\n", 10_000), 20_000)
		page.Cell(strings.Repeat("x|", 100), 100)
	}
	quoted := strings.Count(page.say(), "x") + strings.Count(page.say(), "\n")
	if quoted > maxAnswers {
		t.Errorf("there are %d bytes of a stranger", quoted)
	}
	if !strings.HasSuffix(page.say(), notePage) {
		t.Error("there is no note")
	}
}

func wantPlain(t *testing.T, row string) {
	t.Helper()
	if strings.ContainsAny(row, "\u202e\u200b\x1b<") || strings.Contains(row, "mcp__") {
		t.Errorf("it is not quoted: %q", row)
	}
}
