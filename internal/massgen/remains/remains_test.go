package remains

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

func archive(t *testing.T, name string) []txtar.File {
	t.Helper()
	found, err := txtar.ParseFile("testdata/" + name)
	if err != nil || len(found.Files) == 0 {
		t.Fatal(name, err)
	}
	return found.Files
}

// S§1.6: "Recovery order".
func TestRecover(t *testing.T) {
	top := t.TempDir()
	cases := map[string]string{}
	for _, file := range archive(t, "recover.txtar") {
		name, rest, _ := strings.Cut(file.Name, "/")
		if rest == "want" {
			cases[name] = strings.TrimSuffix(string(file.Data), "\n")
			continue
		}
		write(t, filepath.Join(top, name, rest), string(file.Data))
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			saved := Recover(places(t, filepath.Join(top, name)))
			if got := shown(saved); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func shown(saved Saved) string {
	answer := "none"
	if saved.Answer != nil {
		answer = *saved.Answer
	}
	return fmt.Sprintf("%s | %s | %v", answer, saved.Winner, saved.Presenting)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func places(t *testing.T, dir string) Places {
	t.Helper()
	open := func(name string) *os.Root {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		return root
	}
	return Places{Log: open("log"), Workspace: open("ws"), WorkspacePath: "/w"}
}

// A child's answer that is a link, or another name of a file that is not the child's, is no answer.
func TestRecoverFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	p := places(t, dir)
	write(t, dir+"/secret", "secret")
	if err := os.Symlink("../secret", dir+"/ws/answer.txt"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/log/workspace", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(dir+"/secret", dir+"/log/workspace/answer.txt"); err != nil {
		t.Fatal(err)
	}
	if saved := Recover(p); saved.Answer != nil {
		t.Errorf("got %q", *saved.Answer)
	}
}

// S§1.6: a stale answer.txt of an earlier run with the same id is not the answer.
func TestAStaleAnswerIsNone(t *testing.T) {
	dir := t.TempDir()
	p := places(t, dir)
	write(t, dir+"/ws/answer.txt", "old")
	p.Since = time.Now().Add(time.Hour)
	if saved := Recover(p); saved.Answer != nil {
		t.Errorf("got %q", *saved.Answer)
	}
}

// TestAuthor: what the child says of its agents leads nowhere but beneath its workspace.
func TestAuthor(t *testing.T) {
	for _, test := range []struct{ agent, path, author, workspace string }{
		{"x", "/w/agent_1", "x", "agent_1"},
		{"x", "/w", "x", ""},
		{"x", "/w/../etc", "x", ""},
		{"x", "agent_1", "x", ""},
		{"../x", "/w/agent_1", "", ""},
		{"..", "/w/agent_1", "", ""},
		{"a/b", "/w/agent_1", "", ""},
	} {
		dir := t.TempDir()
		p := places(t, dir)
		write(t, dir+"/log/full_logs/status.json", `{"historical_workspaces":[{"agentId":"`+test.agent+`","timestamp":"1","workspacePath":"`+test.path+`"}]}`)
		author, workspace, ok := p.Author()
		if author != test.author || workspace != test.workspace || ok != (test.author != "") {
			t.Errorf("%s at %s: %q, %q, %v", test.agent, test.path, author, workspace, ok)
		}
	}
}
