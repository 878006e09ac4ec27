package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/house"
)

// A child works in a copy of its parent's directory, in a real sandbox, and the parent takes its work over.
func TestAParentTakesItsChildsWork(t *testing.T) { house.Each(t, aParentTakesItsChildsWork) }

const childsWork = `set -e
test ! -e .git
grep -q two text.txt
sed -i s/two/TWO/ text.txt
rm gone.txt
mkdir -p made/deep .git/hooks
echo new > made/deep/new.txt
echo 'touch owned' > .git/hooks/pre-commit
ln -s text.txt inner
chmod +x tool.sh
echo done`

func aParentTakesItsChildsWork(t *testing.T, sandbox string) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h := house.New(t, house.Plan{Sandbox: sandbox})
	origin := t.TempDir()
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
	file("tool.sh", "#!/bin/sh\n")
	file(".git/config", "[core]\n")

	if got := parent(h, "spawn", "--wait", "--copy", origin, "--id", "s1", "--", childsWork).done(h, 0); got != "done\n" {
		t.Errorf("the answer is %q", got)
	}
	diff := parent(h, "diff", "s1").done(h, 0)
	for _, want := range []string{"-two\n+TWO\n", "deleted file mode 100644\n--- a/gone.txt", "+++ b/made/deep/new.txt", "new mode 100755", "+text.txt\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, diff)
		}
	}
	if strings.Contains(diff, "answer.txt") || strings.Contains(diff, "hooks") {
		t.Errorf("the diff is\n%s", diff)
	}
	file("text.txt", "one\ntwo\nthree\nFOUR\n")
	parent(h, "apply", "s1").done(h, 5) // a program and a link, which are asked for
	parent(h, "apply", "s1", "--allow", "tool.sh", "--allow", "inner").done(h, 0)
	if content("text.txt") != "one\nTWO\nthree\nFOUR\n" || content("gone.txt") != "" || content("made/deep/new.txt") != "new\n" || content("inner") != content("text.txt") {
		t.Errorf("there is %q", content("text.txt"))
	}
	if content(".git/config") != "[core]\n" || content(".git/hooks/pre-commit") != "" {
		t.Error("the git directory was changed")
	}
	if again := parent(h, "diff", "s1").done(h, 0); again != "" {
		t.Errorf("after that it shows\n%s", again)
	}

	// The same child goes on, badly this time, while its parent looks.
	parent(h, "spawn", "--id", "s1", "--", "echo x > more.txt; ln -s /etc/passwd out; mkfifo pipe; echo ready; while ! test -e go; do sleep 0.05; done").done(h, 0)
	h.Says(house.Ask{ID: "s1"}, "ready")
	parent(h, "apply", "s1").done(h, 7)
	parent(h, "apply", "--unfinished", "s1").done(h, 5)
	if content("more.txt") != "" {
		t.Error("something was written although not everything could be")
	}
	parent(h, "apply", "--unfinished", "s1", "more.txt").done(h, 0)
	parent(h, "get", "s1", "--to", filepath.Join(origin, "all")).done(h, 5)
	if content("more.txt") != "x\n" || content("all/more.txt") != "x\n" || content("all/out") != "" {
		t.Errorf("there is %q", content("more.txt"))
	}
	h.Touch("workspaces/s1/go")
	parent(h, "wait", "s1").done(h, 0)
	nothingIsLeft(h)
}
