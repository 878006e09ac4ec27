package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePageTellsWhatIsShownHere holds the operator's table of failures against the stories: every one is in it, and it
// names no other.
func TestThePageTellsWhatIsShownHere(t *testing.T) {
	page := read(t, "../../docs/OPERATIONS.md")
	_, table, _ := strings.Cut(page, "\n## When something fails\n")
	table, _, _ = strings.Cut(table, "\n## ")
	table = regexp.MustCompile(`[\w/]+: Test\w+`).ReplaceAllString(table, "") // shown in another package
	claimed := regexp.MustCompile(`Test\w+`).FindAllString(table, -1)
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, file := range files {
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(read(t, file), -1) {
			shown = append(shown, f[1])
			if !slices.Contains(claimed, f[1]) && f[1] != t.Name() {
				t.Errorf("%s is not on the page", f[1])
			}
		}
	}
	for _, name := range claimed {
		if !slices.Contains(shown, name) {
			t.Errorf("the page names %s, which is not here", name)
		}
	}
	if len(claimed) < 15 {
		t.Errorf("only %d tests were found on the page", len(claimed))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
