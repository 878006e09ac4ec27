package handover

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"torno/manager/massgen"
)

// S§1.7: which places a child may read.
func TestPlaces(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/places.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			lines := strings.Split(string(file.Data), "\n")
			places, err := Places(taskOf(t, lines[0]), Parent{"/p", "/tmp/all", []string{"/ctx"}}, resolve)
			if got := shown(t, places, err); got != lines[1] {
				t.Errorf("got\n%s\nwant\n%s", got, lines[1])
			}
		})
	}
}

// taskOf goes through the parser of the tool, so that its defaults are tried as well.
func taskOf(t *testing.T, fields string) massgen.Task {
	t.Helper()
	call := `{"tasks":[{"task":"t",` + strings.TrimPrefix(fields, "{") + `]}`
	call = strings.Replace(call, ",}", "}", 1)
	spawn, failure := massgen.ParseSpawn([]byte(call), massgen.Parent{
		MaxTasks: 1, Exists: func(string) bool { return true }, NextID: func() string { return "s" }, Types: []string{RoundEvaluator},
	})
	if failure != nil {
		t.Fatal(failure)
	}
	return spawn.Tasks[0]
}

func resolve(path string) (string, error) {
	switch path {
	case "/p/out":
		return "/etc", nil
	case "/p/in":
		return "/ctx/deep", nil
	}
	return path, nil
}

func shown(t *testing.T, places []Place, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error()
	}
	var all []string
	for _, place := range places {
		if place.Permission != "read" {
			t.Errorf("%s is given to %s", place.Path, place.Permission)
		}
		all = append(all, place.Path)
	}
	return strings.Join(all, " ")
}

// S§1.7: paths that are not there.
func TestAPlaceThatIsNotThere(t *testing.T) {
	gone := func(string) (string, error) { return "", os.ErrNotExist }
	if _, err := Places(massgen.Task{}, Parent{Workspace: "/p"}, gone); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// S§1.4, D22: context files stay below both workspaces.
func TestFiles(t *testing.T) {
	got, err := Files(massgen.Task{ContextFiles: []string{"a", "src/./b", "a"}})
	if err != nil || !reflect.DeepEqual(got, []string{"a", "src/b"}) {
		t.Error(got, err)
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/../b", "/etc/passwd", "a\x00b"} {
		if got, err := Files(massgen.Task{ContextFiles: []string{bad}}); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func root(t *testing.T, content string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	if content != "" {
		if err := os.WriteFile(dir+"/CONTEXT.md", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	return held, dir
}

// S§1.7: CONTEXT.md must be there, and is cut with a warning.
func TestReadContext(t *testing.T) {
	none, _ := root(t, "")
	const missing = "CONTEXT.md not found in workspace. Before spawning subagents, create a CONTEXT.md file with task context. This helps subagents understand what they're working on."
	if _, _, err := ReadContext(none); err == nil || err.Error() != missing {
		t.Error(err)
	}
	full, _ := root(t, strings.Repeat("ä", 10000))
	if text, warning, err := ReadContext(full); err != nil || warning != "" || text != strings.Repeat("ä", 10000) {
		t.Error(len(text), warning, err)
	}
	long, _ := root(t, strings.Repeat("ä", 10001))
	text, warning, err := ReadContext(long)
	if err != nil || text != strings.Repeat("ä", 10000) ||
		warning != "WARNING: CONTEXT.md was truncated from 10001 to 10000 characters. Consider shortening it for better results." {
		t.Error(len(text), warning, err)
	}
}

// A CONTEXT.md that is a link is not read, so that no child is told what another file says.
func TestReadContextFollowsNothing(t *testing.T) {
	held, dir := root(t, "")
	if err := os.Symlink("/etc/passwd", dir+"/CONTEXT.md"); err != nil {
		t.Fatal(err)
	}
	if text, _, err := ReadContext(held); err == nil || errors.Is(err, ErrNoContext) {
		t.Error(text, err)
	}
}

// S§1.7: the parts of the prompt and their order.
func TestPrompt(t *testing.T) {
	got := Prompt("You are strict.", "It is about tea.", "Boil water.")
	at := 0
	for _, part := range []string{
		"You are strict.\n\n## Subagent Context\n", "**Task Context:**\nIt is about tea.\n", "**Important", "ocus on the task", "in your workspace", "cannot spawn subagents",
		"not ask the human", "**Output Requirements", "FULL ABSOLUTE PATHS", "**Your Task:**\nBoil water.",
	} {
		i := strings.Index(got[at:], part)
		if i < 0 {
			t.Fatalf("no %q behind character %d of\n%s", part, at, got)
		}
		at += i
	}
	if plain := Prompt("", "a", "b"); !strings.HasPrefix(plain, "## Subagent Context\n\n") || !strings.HasSuffix(plain, "\nb") {
		t.Error(plain)
	}
}
