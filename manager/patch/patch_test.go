package patch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// The sides of a path, and what becomes of it. "-" is nothing.
func TestThreeSides(t *testing.T) {
	const base, theirs, ours = "one\ntwo\nthree\n", "ONE\ntwo\nthree\n", "one\ntwo\nTHREE\n"
	for _, c := range []struct {
		name, base, child, parent string
		want                      string // after an apply, or "conflict"
	}{
		{"nobody", base, base, base, base},
		{"the child changes", base, theirs, base, theirs},
		{"the parent changes", base, base, ours, ours},
		{"both change the same", base, theirs, theirs, theirs},
		{"both change other lines", base, theirs, ours, "ONE\ntwo\nTHREE\n"},
		{"both change one line", base, theirs, "Eins\ntwo\nthree\n", "conflict"},
		{"both append", base, base + "a\n", base + "b\n", "conflict"},
		{"both change what is binary", "a\x00", "b\x00", "c\x00", "conflict"},
		{"the child adds", "-", theirs, "-", theirs},
		{"both add the same", "-", theirs, theirs, theirs},
		{"both add", "-", theirs, ours, "conflict"},
		{"the child deletes", base, "-", base, "-"},
		{"the parent deletes", base, base, "-", "-"},
		{"both delete", base, "-", "-", "-"},
		{"the child deletes what the parent changes", base, "-", ours, "conflict"},
		{"the parent deletes what the child makes a directory", base, "/", "-", "conflict"},
		{"the parent deletes what the child changes", base, theirs, "-", "conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"other": "x"}
			if c.base != "-" {
				files["f"] = c.base
			}
			s := newScene(t, files)
			s.put(s.child("f"), c.child)
			s.put(s.ours("f"), c.parent)
			write(t, s.child("fits"), "fits")
			plan := s.plan()
			_, err := plan.Apply(t.Context())
			if c.want == "conflict" {
				if err == nil || len(plan.Conflicts) != 1 || s.has(s.ours("f")) != c.parent || s.has(s.ours("fits")) != "-" {
					t.Errorf("%v, %q, there is %q", err, plan.Conflicts, listing(t, s.origin))
				}
				return
			}
			if s.must(err); s.has(s.ours("f")) != c.want || s.has(s.ours("fits")) != "fits" {
				t.Errorf("there is %q", listing(t, s.origin))
			}
			if again := s.plan(); len(again.Steps) > 0 || !again.Fits() {
				t.Errorf("the second time %+v", again)
			}
		})
	}
}

// put makes a file hold a text, or removes it.
func (s *scene) put(path, text string) {
	s.Helper()
	if text == "/" {
		s.must(os.Remove(path))
		s.must(os.Mkdir(path, 0o755))
	} else if text != "-" {
		write(s, path, text)
	} else if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
}

func (s *scene) has(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "-"
	}
	return string(text)
}

// stopping is a context that ends after it was asked so often.
type stopping struct {
	context.Context
	left int
}

func (s *stopping) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// An apply that ends after any of its steps is gone on with by the next one, whatever it was doing.
func TestAnApplyThatEndsGoesOn(t *testing.T) {
	for after := range 60 {
		s := newScene(t, map[string]string{
			"changed": "1\n2\n3\n", "merged": "1\n2\n3\n", "deleted/x": "x", "to-file/x": "x", "to-dir": "x", "same": "x",
		})
		write(t, s.child("changed"), "child")
		write(t, s.child("merged"), "child\n2\n3\n")
		write(t, s.ours("merged"), "1\n2\nparent\n")
		s.must(os.RemoveAll(s.child("deleted")))
		s.must(os.RemoveAll(s.child("to-file")))
		write(t, s.child("to-file"), "now a file")
		s.must(os.Remove(s.child("to-dir")))
		write(t, s.child("to-dir/x"), "now a directory")
		write(t, s.child("added/deep/x"), "added")
		plan := s.plan()
		done, err := plan.Apply(&stopping{t.Context(), after})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cut, interrupted := s.take(Selection{}).Interrupted(t.Context(), s.origin, s.open(s.origin))
		s.must(interrupted)
		if (cut != nil) != (err != nil) {
			t.Errorf("after %d: it says %+v, and ended with %v", after, cut, err)
		}
		s.apply()
		want := map[string]string{"changed": "child", "merged": "child\n2\nparent\n", "to-file": "now a file", "to-dir/x": "now a directory", "added/deep/x": "added", "same": "x"}
		got := map[string]string{}
		for path, content := range listing(t, s.origin) {
			if text, ok := strings.CutPrefix(content, "----------"); ok {
				got[path[len(s.origin)+1:]] = text
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("after %d checks and %d steps there is %q", after, done, got)
		}
		if err == nil {
			if after < 5 {
				t.Error("nothing was cut off")
			}
			return
		}
	}
	t.Error("it never came to its end")
}

// A path that changes between a plan and its step is not written over.
func TestAStepLooksOnceMore(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a", "b": "b"})
	write(t, s.child("a"), "child")
	write(t, s.child("b"), "child")
	write(t, s.child("c"), "child")
	plan := s.plan()
	write(t, s.ours("b"), "parent")
	if done, err := plan.Apply(t.Context()); !errors.Is(err, ErrChanging) || done != 1 || s.has(s.ours("b")) != "parent" {
		t.Errorf("%d steps, %v, %q", done, err, s.has(s.ours("b")))
	}
	if plan = s.plan(); len(plan.Conflicts) != 1 || plan.Conflicts[0].Path != "b" {
		t.Errorf("then %+v", plan)
	}
}

// The answer is delivered in another way, and is not part of the work. Nor is an answer to an earlier or later request
// of the child, which may have had another name.
func TestTheAnswerIsNoChange(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	for _, answer := range []string{"answer.txt", "out/report.md", "notes.whole", ""} {
		s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s1", "a request", answer))
		for _, suffix := range []string{"", ".whole", ".previous", ".whole.previous"} {
			if answer != "" {
				write(t, s.child(answer+suffix), "the answer")
			}
		}
	}
	write(t, s.child("sub/answer.txt"), "work")
	write(t, s.child("other.previous"), "work")
	write(t, s.child(".whole"), "work")
	var changed []string
	for _, change := range s.take(Selection{}).Changes {
		changed = append(changed, change.Path)
	}
	if want := []string{".whole", "other.previous", "out", "sub", "sub/answer.txt"}; !slices.Equal(changed, want) {
		t.Errorf("changed: %q, and should be %q", changed, want)
	}
}

// TestNothingIsInTheAnswersPlace: if a file lies at the path of a child's answer, the client refuses the request, because init would move
// the file away.
func TestNothingIsInTheAnswersPlace(t *testing.T) {
	for path, there := range map[string]bool{"answer.txt": true, "Answer.TXT": true, "answer.txt.previous": true, "answer.txt.whole/x": true, "sub/answer.txt": false, "answer.txt.old": false} {
		s := newScene(t, nil)
		write(t, s.ours(path), "the parent's")
		to := s.dir + "/outbox/workspaces/s2"
		s.must(os.Mkdir(to, 0o755))
		_, err := s.store.Copy(t.Context(), s.origin, Destination{
			Subagent: "s2", Path: to, Answer: "answer.txt", Root: s.open(to), UID: os.Getuid(), GID: os.Getgid(),
		}, How{Limits: DefaultLimits})
		if refusal, refused := errors.AsType[*delegation.Refusal](err); refused != there || refused && (refusal.Code != delegation.CodeAnswerFile || refusal.Hint == "") {
			t.Errorf("%s: %v", path, err)
		}
	}
	s := newScene(t, map[string]string{"notes.md": "x", "out/report.md": "x", "later.txt.previous": "x"})
	write(t, s.child("answer.txt"), "the answer")
	write(t, s.child("work.md"), "the child's")
	s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s1", "a request", "second.txt"))
	write(t, s.child("second.txt"), "the second answer")
	root := s.open(s.workspace)
	for answer, there := range map[string]bool{
		"answer.txt": false, "second.txt": false, "third.txt": false, "out/x": false, "none/x": false, "": false,
		"notes.md": true, "work.md": true, "out/report.md": true, "out": true, "later.txt": true,
	} {
		err := CheckAnswer(s.dir+"/state", s.dir+"/outbox", "s1", answer, root)
		if _, refused := errors.AsType[*delegation.Refusal](err); refused != there {
			t.Errorf("%q: %v", answer, err)
		}
	}
	for _, err := range []error{
		CheckAnswer(s.dir+"/state", s.dir+"/outbox", "s2", "work.md", root), // no copy
		CheckAnswer(s.dir+"/none", s.dir+"/outbox", "s1", "work.md", root),
		CheckAnswer(s.dir+"/state", s.dir+"/outbox", "s1", "notes.md", s.open(s.origin)), // another workspace
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAnAnswerTakesNothingOfTheParents: a host may copy a parent's file to the path of the answer, and init moves it away. The diff shows
// neither a removal nor a change of that file, and says that it leaves it out.
func TestAnAnswerTakesNothingOfTheParents(t *testing.T) {
	for _, answer := range []string{"", "the answer"} {
		s := newScene(t, map[string]string{"a": "a"})
		write(t, s.ours("answer.txt"), "the parent's")
		s.must(s.store.Note(t.Context(), s.open(s.origin), s.origin, Destination{Subagent: "s1", Path: s.workspace, Answer: "answer.txt", Root: s.open(s.workspace)}, NoteLimits))
		write(t, s.child("answer.txt.previous"), "the parent's") // by init
		if answer != "" {
			write(t, s.child("answer.txt"), answer)
		}
		write(t, s.child("a"), "changed")
		s.apply()
		if s.has(s.ours("answer.txt")) != "the parent's" || s.has(s.ours("answer.txt.previous")) != "-" || s.has(s.ours("a")) != "changed" {
			t.Errorf("with %q there is %q", answer, listing(t, s.origin))
		}
		work := s.take(Selection{Paths: []string{"answer.txt"}})
		if !slices.Equal(work.Answers, []string{"answer.txt"}) || len(work.Nowhere(Selection{Paths: []string{"answer.txt"}})) > 0 {
			t.Errorf("it names %q", work.Answers)
		}
	}
}

// The record of requests is made only for a child that was given something.
func TestARequestWithoutACopyIsNotRecorded(t *testing.T) {
	s := newScene(t, nil)
	s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s2", "a request", "answer.txt"))
	if _, err := s.store.Base("s2"); !errors.Is(err, ErrNoBase) {
		t.Errorf("the base of a child that was given nothing: %v", err)
	}
	s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s1", "first", "answer.txt"))
	s.must(Asked(s.dir+"/state", s.dir+"/outbox", "s1", "last", "answer.txt"))
	base, err := s.store.Base("s1")
	s.must(err)
	if base.LastAsked() != "last" {
		t.Errorf("the last request is %q", base.LastAsked())
	}
}

// The list: each file is found by its name in any directory and spelling, and ordinary ones are not.
func TestWhatRunsByItself(t *testing.T) {
	for path, runs := range map[string]bool{
		".envrc": true, "sub/.envrc": true, ".ENVRC": true, "envrc": false, "my.envrc": false, ".env.local": true,
		".github/workflows/x.yml": true, "sub/.github/x": true, ".github": true, "github/x": false, ".vscode/tasks.json": true,
		".Claude/settings.json": true, "CLAUDE.md": true, "docs/claude.md": true, ".husky/pre-commit": true, "bare/HEAD": true,
		"x.code-workspace": true, "node_modules/x/index.js": true, "gradle/wrapper/gradle-wrapper.jar": true, "gradle/x": false,
		"main.go": false, "Makefile": true, "README.md": false, "src/head.go": false, ".\uff45nvrc": true,
	} {
		if got := onTheList(path); (got != "") != runs {
			t.Errorf("%q: %q", path, got)
		}
	}
	all := autorun()
	n := len(all.wild)
	for _, some := range all.plain {
		n += len(some)
	}
	if n < 100 {
		t.Errorf("there are %d rules", n)
	}
	for _, r := range slices.Concat(slices.Concat(slices.Collect(maps.Values(all.plain))...), all.wild) {
		if r.what == "" || r.pattern == "" {
			t.Errorf("the rule %+v says nothing", r)
		}
	}
}

// What a path that is asked for leads to is asked for too: through links of the parent's or the child's, hooks of the parent's
// that are links, and its directory of hooks.
func TestWhatRunsThroughALink(t *testing.T) {
	s := newScene(t, map[string]string{"scripts/env": "x", "tools/code/tasks.json": "x", "ci/hook": "x", "hooks/pre-push": "x", "plain": "x"})
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "config", "core.hooksPath", "hooks/")
	s.must(os.Chmod(s.ours("ci/hook"), 0o755))
	s.must(os.Symlink("scripts/middle", s.ours(".envrc")))
	s.must(os.Symlink("env", s.ours("scripts/middle")))
	s.must(os.Symlink("../../ci/hook", s.ours(".git/hooks/pre-commit")))
	s.copyAgain()
	s.must(os.Symlink("tools/code", s.child(".vscode"))) // the child's own
	want := map[string]bool{"scripts/env": true, "tools/code/tasks.json": true, "ci/hook": true, "hooks/pre-push": true, "plain": false}
	for path := range want {
		write(t, s.child(path), "changed")
	}
	running := map[string]bool{}
	for _, r := range s.plan().Running {
		running[r.Path] = true
	}
	for path, runs := range want {
		if running[path] != runs {
			t.Errorf("%s: %v", path, running[path])
		}
	}
}

// Any change of package.json is asked for, whatever its members are.
func TestScriptsOfAPackage(t *testing.T) {
	const before = `{"name": "x", "version": "1", "scripts": {"test": "x"}}`
	for _, after := range []string{
		`{"name": "x", "version": "2", "scripts": {"test": "x"}}`,
		`{"name": "x", "version": "1", "scripts": {"test": "x", "postinstall": "y"}}`,
		`{"name": "x", "version": "1"}`,
		`{"name": "x", "version": "2", "packageManager": "x@y", "scripts": {"test": "x"}}`,
		`{"name": "x", "scripts": {"install": "y"}, "version": "1", "\u0073cripts": {"test": "x"}}`,
		`{"name": "x", `,
	} {
		s := newScene(t, map[string]string{"package.json": before})
		write(t, s.child("package.json"), after)
		s.asksFor("package.json")
	}
	s := newScene(t, nil)
	write(t, s.child("package.json"), `{"name": "x"}`)
	write(t, s.child("sub/package.json"), `{"scripts": {"prepare": "x"}}`)
	s.asksFor("package.json", "sub/package.json")
}

// A base is the parent's: nowhere in the outbox, closed to others, and gone with its workspace.
func TestTheBaseIsKeptApart(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	for path := range listing(t, s.dir+"/outbox") {
		if strings.Contains(path, "base") {
			t.Errorf("%s is in the outbox", path)
		}
	}
	if info, err := os.Stat(s.store.path + "/s1"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, place := range []string{"/outbox", "/outbox/x", "/link"} {
		_ = os.Symlink(s.dir+"/outbox", s.dir+"/link") // it is there the next time
		if _, err := OpenStore(s.dir+place, s.dir+"/outbox"); err == nil || !strings.Contains(err.Error(), "lies in the outbox") {
			t.Errorf("%s: %v", place, err)
		}
	}
	s.must(os.RemoveAll(s.workspace))
	s.must(s.store.Prune())
	if _, err := s.store.Base("s1"); err != nil {
		t.Errorf("a young one is gone: %v", err)
	}
	old := time.Now().Add(-25 * time.Hour)
	s.must(os.Chtimes(s.store.path+"/s1", old, old))
	s.must(s.store.Prune())
	if _, err := s.store.Base("s1"); !errors.Is(err, ErrNoBase) {
		t.Error(err)
	}
}

// TestAWorkspaceGetsItsNameWhenItIsWhole: the record and the repository of a copy name the later path. Another copy, made before the workspace
// is moved there, does not remove the record.
func TestAWorkspaceGetsItsNameWhenItIsWhole(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "commit", "-q", "--allow-empty", "-m", "x")
	workspaces := filepath.Dir(s.workspace)
	s.must(os.Mkdir(workspaces+"/.private", 0o755))
	root, err := s.open(workspaces).OpenRoot(".private")
	s.must(err)
	defer root.Close()
	report, err := s.store.Copy(t.Context(), s.origin, Destination{
		Subagent: "s2", Path: workspaces + "/s2", Answer: "answer.txt", Root: root, UID: os.Getuid(), GID: os.Getgid(),
	}, DefaultHow)
	s.must(err)
	if report.Repository.Commits != 1 {
		t.Errorf("its repository is %+v", report.Repository)
	}
	s.copyWith("s3", s.origin, DefaultHow)
	s.must(os.Rename(workspaces+"/.private", workspaces+"/s2"))
	write(t, workspaces+"/s2/a", "changed")
	base, err := s.store.Base("s2")
	s.must(err)
	work, err := s.store.Take(t.Context(), "s2", s.open(workspaces+"/s2"), Selection{})
	s.must(err)
	defer work.Close()
	if base.Workspace != workspaces+"/s2" || len(work.Changes) != 1 || work.Changes[0].Path != "a" {
		t.Errorf("the record is of %s, the changes are %+v", base.Workspace, work.Changes)
	}
}

// A copy leaves out what is not the child's business, ends at its limits, and does not copy itself.
func TestACopyIsBounded(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	write(t, s.dir+"/outbox/workspaces/other/x", "x")
	for n, limits := range []Limits{{Files: 3, Bytes: 1 << 20}, {Files: 100, Bytes: 100}} {
		for i := range 10 {
			write(t, s.ours(fmt.Sprint("many/", i)), strings.Repeat("x", 20))
		}
		to := s.dir + fmt.Sprint("/outbox/workspaces/to", n)
		s.must(os.Mkdir(to, 0o755))
		_, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: fmt.Sprint("to", n), Path: to, Root: s.open(to)}, How{Limits: limits})
		if !errors.Is(err, ErrTooMuch) {
			t.Error(err)
		}
	}
	to := s.dir + "/outbox/workspaces/s3"
	s.must(os.Mkdir(to, 0o755))
	report, err := s.store.Copy(t.Context(), s.dir, Destination{Subagent: "s3", Path: to, Root: s.open(to), UID: os.Getuid(), GID: os.Getgid()}, How{Limits: DefaultLimits})
	if s.must(err); s.has(to+"/origin/a") != "a" || s.has(to+"/outbox") != "-" || report.Files != 11 {
		t.Errorf("%+v: %q", report, listing(t, to))
	}
}
