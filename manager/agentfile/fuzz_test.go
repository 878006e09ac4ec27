package agentfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzRead: whatever a file holds, it is either refused with a reason or an Agent that keeps the promises.
func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range seeds {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, form := range []form{jarvis, claude} {
			a, problems := read("x.md", data, form, strings.ToLower)
			if (a == nil) != (len(problems) > 0) {
				t.Fatalf("%+v with %v", a, problems)
			}
			if a != nil {
				keepsPromises(t, a)
			}
		}
	})
}

func keepsPromises(t *testing.T, a *Agent) {
	t.Helper()
	if checkName(a.Name) != nil || a.Description == "" || a.Timeout <= 0 || a.Timeout > maxTime {
		t.Errorf("%+v", a)
	}
	for _, word := range append(append([]string{a.Model}, a.Permissions.Allow...), a.Permissions.Deny...) {
		if strings.HasPrefix(word, "-") || strings.ContainsAny(word, "\x00\n") {
			t.Errorf("%q could be an option", word)
		}
	}
	for _, s := range a.Servers {
		if s.Name == "" || s.Command == "" {
			t.Errorf("%+v", s)
		}
	}
}
