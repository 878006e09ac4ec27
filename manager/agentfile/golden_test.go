package agentfile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"torno/manager/agentfile"
)

// TestGolden reads each project in testdata. What it must come to was written by hand, from what the systems document.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no projects", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			root, rest := project(t, archive)
			env := rest["env"]
			set, err := agentfile.Read(root, nil, func(name string) string { return lookup(env, name) })
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "problems", problems(set), lines(rest["problems"]))
			compare(t, "agents", agents(t, set), wanted(t, rest["want.json"]))
		})
	}
}

// project writes an archive's files that belong to a project; the others are returned.
func project(t *testing.T, archive *txtar.Archive) (*os.Root, map[string]string) {
	t.Helper()
	rest := map[string]string{}
	root := openRoot(t)
	for _, f := range archive.Files {
		if !strings.Contains(f.Name, "/") {
			rest[f.Name] = string(f.Data)
			continue
		}
		write(t, root, f.Name, f.Data)
	}
	return root, rest
}

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func write(t *testing.T, root *os.Root, name string, data []byte) {
	t.Helper()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func lookup(env, name string) string {
	for line := range strings.Lines(env) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// agents are those of a set, as JSON, one in a line.
func agents(t *testing.T, set *agentfile.Set) []string {
	t.Helper()
	var all []string
	for _, name := range set.Names() {
		a, err := set.Get(name, "main")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, asJSON(t, a))
	}
	return all
}

// wanted is the same of what a person wrote.
func wanted(t *testing.T, text string) []string {
	t.Helper()
	var want []*agentfile.Agent
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range want {
		all = append(all, asJSON(t, a))
	}
	return all
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

func problems(set *agentfile.Set) []string {
	var all []string
	for _, err := range set.Problems {
		all = append(all, err.Error())
	}
	return all
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
