package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/house"
)

// A profile gives each child a copy of its parent's directory, which the watcher makes, and the parent takes its work over.
func TestTheWatcherCopiesAWorkspace(t *testing.T) { house.Each(t, theWatcherCopiesAWorkspace) }

const copiesProfile = `  copies:
    workspace: copy
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 2m, min: 1s, max: 5m}`

func theWatcherCopiesAWorkspace(t *testing.T, sandbox string) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	roots := t.TempDir()
	origin := filepath.Join(roots, "project")
	h := house.New(t, house.Plan{Sandbox: sandbox, Allow: []string{roots}, Profiles: copiesProfile, Offers: ", copies"})
	file := func(name, text string) {
		path := filepath.Join(origin, name)
		h.Must(os.MkdirAll(filepath.Dir(path), 0o755))
		h.Must(os.WriteFile(path, []byte(text), 0o644))
	}
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(origin, name))
		if err != nil {
			return ""
		}
		return string(data)
	}
	file("text.txt", "one\ntwo\nthree\nfour\n")
	file("gone.txt", "gone\n")
	file(".git/HEAD", "ref: refs/heads/main\n")
	file(".git/config", "[remote \"o\"]\n\turl = https://me:secret@host\n")
	file(".git/hooks/post-checkout", "#!/bin/sh\n")
	h.Must(os.Symlink("/etc/hostname", filepath.Join(origin, "out")))

	work := `set -e
test "$(pwd)" = ` + origin + `
test ! -e .git/hooks
! grep -rq secret .
sed -i s/two/TWO/ text.txt
rm gone.txt
echo new > new.txt
echo done`
	spawn := func(id, task string) string {
		return parent(h, "spawn", "--wait", "--profile", "copies", "--workspace", origin, "--id", id, "--", task).done(h, 0)
	}
	if got := spawn("s1", work); got != "done\n" {
		t.Errorf("the answer is %q", got)
	}
	if content("text.txt") != "one\ntwo\nthree\nfour\n" || content("gone.txt") != "gone\n" || content("new.txt") != "" {
		t.Error("the child has written in the original")
	}
	if got := spawn("s1", "cat new.txt; echo more >> new.txt"); got != "new\n" {
		t.Errorf("the next run finds %q", got)
	}
	diff := parent(h, "diff", "s1").done(h, 0)
	for _, want := range []string{"-two\n+TWO\n", "deleted file mode 100644\n--- a/gone.txt", "+++ b/new.txt", "+more\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, diff)
		}
	}
	if strings.Contains(diff, "b/answer.txt\n") || strings.Contains(diff, "HEAD") {
		t.Errorf("the diff is\n%s", diff)
	}
	file("text.txt", "one\ntwo\nthree\nFOUR\n") // the parent goes on
	parent(h, "apply", "s1").done(h, 0)
	if content("text.txt") != "one\nTWO\nthree\nFOUR\n" || content("gone.txt") != "" || content("new.txt") != "new\nmore\n" {
		t.Errorf("there is %q, %q", content("text.txt"), content("new.txt"))
	}
	if !strings.Contains(content(".git/config"), "secret") {
		t.Error("the git directory was changed")
	}
	parent(h, "get", "s1", "new.txt", "--to", filepath.Join(roots, "got")).done(h, 0)
	if data, err := os.ReadFile(filepath.Join(roots, "got", "new.txt")); string(data) != "new\nmore\n" {
		t.Errorf("it got %q, %v", data, err)
	}
	nothingIsLeft(h)
}
