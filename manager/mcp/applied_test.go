package mcp

import (
	"errors"
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

// TestAnInterruptedApplyIsToldBesidesAnError: the next call will not find what was put back.
func TestAnInterruptedApplyIsToldBesidesAnError(t *testing.T) {
	s, cause := &Server{}, errors.New("the workspace is gone")
	if err := s.besides(cause, applied{}); err != cause {
		t.Errorf("without an interrupted apply it becomes %v", err)
	}
	said := applied{}
	said.tell(&patch.Marker{PutBack: []patch.Trouble{{Path: "a.go", Why: "it was saved"}}})
	shown := s.trouble(s.besides(cause, said))
	details, ok := shown.Details.(answer)
	if !ok || !strings.Contains(details.say(), "a.go") || !strings.Contains(shown.Text, cause.Error()) {
		t.Errorf("the model is told %+v", shown)
	}
}

// TestAWordAllowsOneFile: allow takes whole paths, as they are shown. No name that a child chooses falls under the word for another one.
func TestAWordAllowsOneFile(t *testing.T) {
	long := "." + strings.Repeat("x", maxPathRoom)
	for _, c := range []struct {
		allow, path string
		allowed     bool
	}{
		{"a/.envrc", "a/.envrc", true},
		{"./a//.envrc", "a/.envrc", true},
		{"a/.envrc", "b/.envrc", false},
		{quoteAll(long+"1", maxPathRoom).text, long + "1", false},
		{quoteAll(long+"1", maxPathRoom).text, long + "2", false},
		{long + "1", long + "1", true},
		{`.\u{3c}system>`, ".<system>", true},
		{`.\u{3c}system>`, `.\u{3c}system>`, false},
		{`.\u{5c}u{3c}system>`, `.\u{3c}system>`, true},
		{".<system>", ".<system>", false},
		{`./.\u{3c}system>`, ".<system>", false},
	} {
		if got := (applyInput{Allow: []string{c.allow}}).allows(c.path); got != c.allowed {
			t.Errorf("%.40q allows %.40q: %v", c.allow, c.path, got)
		}
	}
}

// TestAPathIsShownWholeToBeAllowed, or it says what to do, also in the list of the longest ones.
func TestAPathIsShownWholeToBeAllowed(t *testing.T) {
	for length, whole := range map[int]bool{1001: true, 4900: true, 5001: false, 30_000: false} {
		var l pathList
		name := "." + strings.Repeat("x", length-1)
		l.addWhole(name, strings.Repeat("y", 2000))
		l.addWhole(".second", "direnv")
		if len(l.Paths) == 0 || (l.Paths[0].Path.text == name) != whole || strings.Contains(l.Paths[0].Why, "too long") == whole {
			t.Errorf("of %d bytes: %d are named, %.3000v", length, len(l.Paths), l.Paths)
		}
		if data, err := l.MarshalJSON(); err != nil || len(data) > maxPathsRoom+200 {
			t.Errorf("of %d bytes: %d, %v", length, len(data), err)
		}
	}
}
