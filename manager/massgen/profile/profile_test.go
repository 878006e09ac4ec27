package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// S§1.11, "Profiles": the form of a SUBAGENT.md.
func TestParse(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/parse.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			text, want, _ := strings.Cut(string(file.Data), "=====\n")
			p, err := Parse("P/SUBAGENT.md", "dir", []byte(text))
			got := fmt.Sprintf("%s | %s | %v | %v | %s", p.Name, p.Description, p.Skills, p.ExpectedInput, p.SystemPrompt)
			if err != nil {
				got = err.Error()
			}
			if got != strings.TrimSuffix(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// directory makes a directory of profiles; a text is a whole SUBAGENT.md.
func directory(t *testing.T, files map[string]string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SUBAGENT.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func described(text string) string { return "---\ndescription: " + text + "\n---\n" }

// S§1.11: "project wins, case-insensitive"; "dir _template skipped"; without a description "skipped with warning".
func TestLoad(t *testing.T) {
	builtIn, _ := directory(t, map[string]string{"critic": described("ours"), "explorer": described("looks"), "_template": "no form at all"})
	project, dir := directory(t, map[string]string{"Critic": described("theirs"), "draft": "---\nname: draft\n---\n"})
	profiles, warnings, err := Load(builtIn, nil, project)
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 2 || profiles[0].Name != "Critic" || profiles[0].Description != "theirs" || profiles[1].Name != "explorer" {
		t.Errorf("got %+v", profiles)
	}
	want := dir + "/draft/SUBAGENT.md has no description, so it is skipped. Add a line 'description: …' to it"
	if len(warnings) != 1 || warnings[0] != want {
		t.Errorf("got %q, want %q", warnings, want)
	}
}

// A profile that is a link, too long or of no form stops the whole load; two of one name do as well.
func TestBadDirectories(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"too long": {"a": described("d") + strings.Repeat("x", maxFile)},
		"no form":  {"a": "text"},
		"twice":    {"a": "---\nname: x\ndescription: d\n---\n", "b": "---\nname: X\ndescription: d\n---\n"},
	} {
		root, _ := directory(t, files)
		if profiles, _, err := Load(root); err == nil {
			t.Errorf("%s: got %+v", name, profiles)
		}
	}
	root, dir := directory(t, map[string]string{"a": described("d")})
	if err := os.Mkdir(dir+"/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../a/SUBAGENT.md", dir+"/b/SUBAGENT.md"); err != nil {
		t.Fatal(err)
	}
	if profiles, _, err := Load(root); err == nil {
		t.Errorf("followed a link: %+v", profiles)
	}
}

// Whatever the bytes are, a profile has a name that can be a directory's, and a description.
func FuzzParse(f *testing.F) {
	f.Add([]byte(described("d") + "x"))
	f.Add([]byte("---\nname: &a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p", "dir", data)
		if err == nil && (checkName(p.Name) != nil || p.Description == "") {
			t.Errorf("accepted %+v", p)
		}
	})
}

// S§1.11: ten are built in, each in the strict form, and a project replaces one without regard to case.
func TestBuiltIn(t *testing.T) {
	want := "builder critic evaluator execution_trace_analyzer explorer novelty quality_rethinking regression_guard researcher round_evaluator"
	names := func(all []Profile) string {
		var list []string
		for _, p := range all {
			if p.SystemPrompt == "" || len(p.ExpectedInput) == 0 {
				t.Errorf("%s says too little", p.Name)
			}
			list = append(list, p.Name)
		}
		return strings.Join(list, " ")
	}
	if got := names(BuiltIn()); got != want {
		t.Errorf("got %s", got)
	}
	project, _ := directory(t, map[string]string{"x": "---\nname: Critic\ndescription: theirs\nexpected_input: [y]\n---\nz"})
	all, _, err := All(project)
	if got := names(all); err != nil || got != strings.Replace(want, "critic", "Critic", 1) || all[1].Description != "theirs" {
		t.Errorf("got %s, %v", got, err)
	}
	if p, err := Parse("t", "t", Template()); err != nil || p.Name != "my_kind" {
		t.Errorf("the example is %+v, %v", p, err)
	}
}
