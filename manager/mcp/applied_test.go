package mcp

import (
	"strings"
	"testing"

	"torno/manager/patch"
)

// TestAnInterruptedApplyIsTold: an answer names each file that an apply which did not end has taken out, and says where it is.
func TestAnInterruptedApplyIsTold(t *testing.T) {
	var a applied
	a.tell(nil)
	if a.Said != "" {
		t.Errorf("of none it says %q", a.Said)
	}
	a.tell(&patch.Marker{
		PutBack: []patch.Trouble{{Path: "a.go", Why: "it was saved"}},
		Kept:    []patch.Trouble{{Path: "b.go.torno-kept-1", Why: `the interrupted apply moved it away from "b.go"`}},
	})
	text := a.say()
	for _, part := range []string{"did not end", "put back: it was saved\n", "a.go", "kept:\n", "b.go.torno-kept-1", `the interrupted apply moved it away from "b.go"`} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q: %s", part, text)
		}
	}
}
