package configs

import (
	"strings"
	"testing"
)

// TestArtifactsAreBelowTheWorkspace: a pattern that no file there can match, or that is none, is told.
func TestArtifactsAreBelowTheWorkspace(t *testing.T) {
	for pattern, want := range map[string]string{
		"report/": "", "a/b/": "", "*.pdf": "", "out/*.[jt]s": "", "a?b": "", "[": "is no pattern",
		"../x": "is not a path in a workspace", "/etc/": "is not a path in a workspace", ".": "is not a path", "./": "is not a path", "": "is not a path",
		"a//b": "is not a path", "/": "is not a path", "*/": "ends with a slash", `a\b/`: "ends with a slash",
	} {
		r := &report{}
		checkArtifacts(r, "profiles.p", []string{pattern})
		told := ""
		for _, p := range r.problems {
			told += p.String()
		}
		if (told == "") != (want == "") || !strings.Contains(told, want) {
			t.Errorf("%q: %q, want %q", pattern, told, want)
		}
	}
}
