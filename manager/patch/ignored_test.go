package patch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newIgnoring makes a scene whose origin is a repository that ignores some of its files, with another repository in it.
func newIgnoring(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q", "-b", "main")
	for path, text := range map[string]string{
		".gitignore": "bin/\n*.log\n!keep.log\nsub/secret\n/odd/*\n!/odd/*/\n", "f": "f", "bin/x": "x", "bin/deep/y": "y", "a.log": "a", "keep.log": "k",
		"sub/secret": "s", "sub/g": "g", "tracked.log": "t", "odd/x": "o",
	} {
		write(t, s.ours(path), text)
	}
	s.must(os.Symlink("sub", s.ours("l")))
	s.must(os.Mkdir(s.ours("empty"), 0o755))
	s.git(s.origin, "add", ".")
	s.git(s.origin, "add", "--force", "tracked.log")
	s.git(s.origin, "commit", "-q", "-m", "all")
	s.must(os.Mkdir(s.ours("inner"), 0o755))
	s.git(s.ours("inner"), "init", "-q")
	for path, text := range map[string]string{".gitignore": "*.tmp\n", "bin/tool": "t", "b.tmp": "b", "c.log": "c"} {
		write(t, s.ours("inner/"+path), text)
	}
	return s
}

// takeOf takes a child's work, and returns the paths that the child changed and the paths that Take skipped as ignored.
func (s *scene) takeOf(id, workspace string, pick Selection) (changed, ignored string) {
	s.Helper()
	work, err := s.store.Take(s.Context(), id, s.open(workspace), pick)
	s.must(err)
	defer work.Close()
	var all []string
	for _, c := range work.Changes {
		all = append(all, c.Path)
	}
	return strings.Join(all, " "), strings.Join(work.Ignored, " ")
}

// TestWhatGitIgnores: Copy leaves ignored files out, and Take skips those that the child makes, by the parent's rules and not by the child's.
func TestWhatGitIgnores(t *testing.T) {
	s := newIgnoring(t)
	s.Setenv("GIT_DIR", s.dir)
	s.Setenv("GIT_LITERAL_PATHSPECS", "1")
	to, r := s.copyWith("c", s.origin, DefaultHow)
	if got := strings.Join(r.Ignored, " "); got != "a.log bin inner/b.tmp odd sub/secret" {
		t.Errorf("left out is %q", got)
	}
	for path, there := range map[string]bool{
		"f": true, "keep.log": true, "tracked.log": true, "sub/g": true, "empty": true, "inner/bin/tool": true, "inner/c.log": true,
		"bin": false, "a.log": false, "sub/secret": false, "inner/b.tmp": false, "odd": false,
	} {
		if _, err := os.Lstat(to + "/" + path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, text := range map[string]string{
		".gitignore": "hidden\n", "hidden": "h", "bin/y": "y", "b.log": "b", "deep/node/new": "n", "tracked.log": "changed", "z.log": "z", "empty/e.log": "e",
		"odd/new/n": "n", "odd/p": "p", "inner/n.log": "n", "inner/n.tmp": "n", "mixed/a.log": "a", "mixed/b": "b", "only/a.log": "a",
	} {
		write(t, to+"/"+path, text)
	}
	s.must(errors.Join(os.Remove(to+"/l"), os.Mkdir(to+"/l", 0o755))) // a link of the parent's: git says nothing of what lies beyond
	write(t, to+"/l/x.log", "x")
	const passed = "b.log bin empty/e.log inner/n.tmp mixed/a.log odd/p only z.log"
	const others = ".gitignore deep deep/node deep/node/new hidden inner/n.log l l/x.log mixed mixed/b odd odd/new odd/new/n tracked.log"
	for _, c := range []struct {
		pick             Selection
		changed, ignored string
	}{
		{Selection{}, others, passed},
		{Selection{Paths: []string{"bin"}}, "bin bin/y", ""},
		{Selection{Paths: []string{"z.log", "mixed"}}, "mixed mixed/b z.log", "mixed/a.log"},
		{Selection{Paths: []string{"only"}}, "only only/a.log", ""},
		{Selection{Paths: []string{"."}}, others, passed},
		{Selection{Paths: []string{"bin", "inner"}, Ignored: true}, "bin bin/y inner/n.log inner/n.tmp", ""},
	} {
		if changed, ignored := s.takeOf("c", to, c.pick); changed != c.changed || ignored != c.ignored {
			t.Errorf("%+v: changed are %q, passed by %q", c.pick, changed, ignored)
		}
	}
}

// TestIgnoredFilesOnRequest: Copy and Take treat ignored files as all others when asked to, and in a directory that git ignores as a whole.
func TestIgnoredFilesOnRequest(t *testing.T) {
	s := newIgnoring(t)
	for id, c := range map[string]struct {
		from string
		how  How
		has  string
	}{
		"asked":  {s.origin, How{Limits: DefaultLimits, Ignored: true}, "bin/x"},
		"whole":  {s.ours("bin"), DefaultHow, "x"},
		"no-git": {s.dir, How{Limits: DefaultLimits, Ignored: true}, "origin/bin/x"},
	} {
		to, r := s.copyWith(id, c.from, c.how)
		write(t, to+"/new.log", "new")
		changed, ignored := s.takeOf(id, to, Selection{})
		if _, err := os.Lstat(to + "/" + c.has); err != nil || len(r.Ignored) > 0 || changed != "new.log" || ignored != "" {
			t.Errorf("%s: %v, left out %q, changed %q, passed by %q", id, err, r.Ignored, changed, ignored)
		}
	}
}

// TestRulesAbove: a directory in a work tree goes by the rules of all of it.
func TestRulesAbove(t *testing.T) {
	s := newIgnoring(t)
	_, r := s.copyWith("c", s.ours("sub"), DefaultHow)
	if got := strings.Join(r.Ignored, " "); got != "secret" {
		t.Errorf("left out is %q", got)
	}
}

// TestNoGitRunsForAChild: git judges nothing by a repository that lies in the outbox, because a child may have written its settings. The oracle is the same
// repository elsewhere.
func TestNoGitRunsForAChild(t *testing.T) {
	s := newIgnoring(t)
	to, _ := s.copyWith("c", s.origin, DefaultHow)
	for _, c := range []struct {
		repository, common string
		ignored            string
	}{
		{filepath.Join(s.dir, "elsewhere"), "", "lent/x.log"},
		{filepath.Join(s.dir, "outbox", "mine"), "", ""},
		{filepath.Join(s.dir, "outbox", "half"), s.ours(".git"), ""},
	} {
		s.must(os.MkdirAll(c.repository, 0o755))
		s.git(c.repository, "init", "-q")
		write(t, c.repository+"/.git/info/exclude", "*.log\n")
		if c.common != "" {
			write(t, c.repository+"/.git/commondir", c.common+"\n")
		}
		s.must(errors.Join(os.RemoveAll(s.ours("lent")), os.Mkdir(s.ours("lent"), 0o755)))
		write(t, s.ours("lent/.git"), "gitdir: "+c.repository+"/.git\n")
		write(t, to+"/lent/x.log", "x")
		write(t, to+"/lent/y", "y")
		if _, ignored := s.takeOf("c", to, Selection{}); ignored != c.ignored {
			t.Errorf("%s: passed by %q", c.repository, ignored)
		}
	}
}

// TestACutApplyGoesByItsRules: a second apply writes what a cut one began to write, although the first has already written rules that ignore it.
func TestACutApplyGoesByItsRules(t *testing.T) {
	s := newIgnoring(t)
	to, _ := s.copyWith("c", s.origin, DefaultHow)
	for path, text := range map[string]string{".gitignore": "*\n", "new": "new", "sub/.gitignore": "*\n", "a.log": "of the child"} {
		write(t, to+"/"+path, text)
	}
	plan := func() *Plan {
		work, err := s.store.Take(t.Context(), "c", s.open(to), Selection{})
		s.must(err)
		t.Cleanup(func() { work.Close() })
		plan, err := work.Plan(t.Context(), s.origin, s.open(s.origin))
		s.must(err)
		return plan
	}
	first := plan()
	first.path = s.dir + "/other" // as after apply --to
	s.must(os.Symlink(s.origin, first.path))
	s.must(first.begin("cut"))
	write(t, s.ours(".gitignore"), "*\n")
	write(t, to+"/b.log", "later")
	if changed, ignored := s.takeOf("c", to, Selection{Paths: []string{"a.log"}}); changed != "a.log" || ignored != "" {
		t.Errorf("named changed are %q, passed by %q", changed, ignored)
	}
	second := plan()
	if got := len(second.Steps); got != 2 || strings.Join(second.work.Ignored, " ") != "a.log b.log" {
		t.Errorf("%d steps are left, passed by %v", got, second.work.Ignored)
	}
	if _, err := second.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if read(t, s.ours("new")) != "new" || read(t, s.ours("sub/.gitignore")) != "*\n" || read(t, s.ours("a.log")) != "a" {
		t.Error("the apply that went on has written something else")
	}
	write(t, to+"/new", "newer")
	if changed, _ := s.takeOf("c", to, Selection{}); changed != "new" {
		t.Errorf("later changed are %q", changed)
	}
}

// TestAListOfWhatIsNotIgnored: rules that ignore all in a directory but what they name do not ignore the directory.
func TestAListOfWhatIsNotIgnored(t *testing.T) {
	for name, c := range map[string]struct{ rulesIn, rules, repository string }{
		"of the work tree":         {"", "*\n!/sub/\n!/sub/**\n!.gitignore\n", ""},
		"in a directory":           {"", "*\n!/sub/\n!/sub/**\n!.gitignore\n", ".."},
		"of a directory, above it": {"..", "origin/*\n!origin/sub\n", ".."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[string]string{".env": "secret", "sub/f": "f"})
			quietGit(t, s.dir)
			write(t, s.ours(c.rulesIn+"/.gitignore"), c.rules)
			s.git(s.ours(c.repository), "init", "-q")
			to, r := s.copyWith("c", s.origin, DefaultHow)
			if _, err := os.Lstat(to + "/sub/f"); err != nil || strings.Join(r.Ignored, " ") != ".env" {
				t.Errorf("%v, left out is %q", err, r.Ignored)
			}
		})
	}
}

// TestADirectoryThatIsIgnoredAsAWhole is copied, by the rules of the repositories in it.
func TestADirectoryThatIsIgnoredAsAWhole(t *testing.T) {
	s := newScene(t, map[string]string{".gitignore": "/w/\n", "w/p/.gitignore": ".env\n", "w/p/.env": "secret", "w/p/f": "f", "w/.env": "e"})
	quietGit(t, s.dir)
	for _, dir := range []string{".", "w/p"} {
		s.git(s.ours(dir), "init", "-q")
	}
	to, r := s.copyWith("c", s.ours("w"), DefaultHow)
	if _, err := os.Lstat(to + "/.env"); err != nil || strings.Join(r.Ignored, " ") != "p/.env" {
		t.Errorf("%v, left out is %q", err, r.Ignored)
	}
	for _, dir := range []string{"p", "p/deep"} { // the outer one ignores both
		if _, r := s.copyWith("outer", s.origin, DefaultHow); strings.Join(r.Ignored, " ") != "w" {
			t.Errorf("left out is %q", r.Ignored)
		}
		write(t, s.dir+"/outbox/workspaces/outer/w/"+dir+"/new", "new")
		if changed, ignored := s.takeOf("outer", s.dir+"/outbox/workspaces/outer", Selection{Paths: []string{"w/" + dir}}); !strings.HasSuffix(changed, "/new") || ignored != "" {
			t.Errorf("%s: changed are %q, passed by %q", dir, changed, ignored)
		}
		s.must(os.RemoveAll(s.dir + "/outbox/workspaces/outer"))
	}
}

// TestRulesThatASparseCheckoutLeavesOut are unknown.
func TestRulesThatASparseCheckoutLeavesOut(t *testing.T) {
	s := newScene(t, map[string]string{".gitignore": ".env\n", "src/f": "f", "other/.gitignore": "x\n"})
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "add", ".")
	s.git(s.origin, "commit", "-q", "-m", "all")
	s.git(s.origin, "sparse-checkout", "set", "--no-cone", "/src/*")
	write(t, s.ours("src/.env"), "secret")
	dest := filepath.Join(s.dir, "outbox/workspaces/d")
	s.must(os.MkdirAll(dest, 0o755))
	_, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "d", Path: dest, Root: s.open(dest)}, DefaultHow)
	if !errors.Is(err, ErrRules) || !strings.Contains(err.Error(), "sparse") {
		t.Error(err)
	}
	s.git(s.origin, "sparse-checkout", "set", "--cone", "src")
	s.must(os.MkdirAll(s.ours("other"), 0o755))
	if _, r := s.copyWith("c", s.ours("src"), DefaultHow); strings.Join(r.Ignored, " ") != ".env" {
		t.Errorf("left out is %q", r.Ignored)
	}
}

// TestRulesAboutWhatIsNoPlaceOfTheParents: paths that the parent's directory cannot have, and paths in what was left out of the copy, make no look fail.
func TestRulesAboutWhatIsNoPlaceOfTheParents(t *testing.T) {
	s := newIgnoring(t)
	to, _ := s.copyWith("c", s.origin, DefaultHow)
	long := strings.Repeat(strings.Repeat("d", 99)+"/", 40)
	at := s.open(to)
	for range 40 {
		s.must(at.Mkdir(strings.Repeat("d", 99), 0o755))
		below, err := at.OpenRoot(strings.Repeat("d", 99))
		s.must(err)
		defer below.Close()
		at = below
	}
	s.must(at.WriteFile("x", nil, 0o644))
	base, err := s.store.Base("c")
	s.must(err)
	base.LeftOut = append(base.LeftOut, "box")
	s.must(s.store.save(base))
	s.must(os.MkdirAll(s.ours("box"), 0o755))
	s.must(syscall.Mkfifo(s.ours("box/.gitignore"), 0o644))
	write(t, to+"/box/x", "x")
	changed, ignored := s.takeOf("c", to, Selection{})
	if !strings.Contains(changed, long+"x") || !strings.Contains(changed, "box/x") || ignored != "" {
		t.Errorf("changed are %q, passed by %q", changed, ignored)
	}
}

// TestAnInnerRepositoryOfAnyName is left out whole where the outer one ignores it.
func TestAnInnerRepositoryOfAnyName(t *testing.T) {
	s := newScene(t, map[string]string{".gitignore": "/-/\n/.x/\n", "-/f": "f", ".x/f": "f", ".y/f": "f"})
	quietGit(t, s.dir)
	for _, dir := range []string{".", "-", ".x", ".y"} {
		s.git(s.ours(dir), "init", "-q")
	}
	if _, r := s.copyWith("c", s.origin, DefaultHow); strings.Join(r.Ignored, " ") != "- .x" {
		t.Errorf("left out is %q", r.Ignored)
	}
}

// TestWhatAppearsDuringACopy is not copied, since git was not asked about it.
func TestWhatAppearsDuringACopy(t *testing.T) {
	s := newIgnoring(t)
	real, err := exec.LookPath("git")
	s.must(err)
	write(t, s.dir+"/bin/git", "#!/bin/sh\necho late > "+s.ours("late.log")+"\nexec "+real+" \"$@\"\n")
	s.must(os.Chmod(s.dir+"/bin/git", 0o755))
	s.Setenv("PATH", s.dir+"/bin:"+os.Getenv("PATH"))
	to, r := s.copyWith("c", s.origin, How{Limits: DefaultLimits})
	if _, err := os.Lstat(to + "/late.log"); err == nil || r.LeftCount != 1 || r.Left[0].Path != "late.log" {
		t.Errorf("left out is %+v", r.Left)
	}
}

// TestAStrangersRepositoryAround has no say in what is copied, also where it is made of a file that names a repository of ours.
func TestAStrangersRepositoryAround(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	for name, lend := range map[string]func(s *scene){
		"a directory": func(s *scene) { s.git(s.dir, "init", "-q") },
		"a file": func(s *scene) {
			s.must(os.Mkdir(s.dir+"/lent", 0o755))
			s.git(s.dir+"/lent", "init", "-q")
			write(s, s.dir+"/.git", "gitdir: "+s.dir+"/lent/.git\n")
		},
		"a link": func(s *scene) {
			s.must(os.Mkdir(s.dir+"/lent", 0o755))
			s.git(s.dir+"/lent", "init", "-q")
			s.must(os.Symlink("lent/.git", s.dir+"/.git"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[string]string{"f": "f"})
			quietGit(t, s.dir)
			lend(s)
			s.must(os.Lchown(s.dir+"/.git", 12345, 12345))
			dest := filepath.Join(s.dir, "outbox/workspaces/d")
			s.must(os.MkdirAll(dest, 0o755))
			_, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "d", Path: dest, Root: s.open(dest)}, DefaultHow)
			if !errors.Is(err, ErrRules) || !strings.Contains(err.Error(), "user 12345") {
				t.Error(err)
			}
		})
	}
}

// TestAFileThatBecameADirectory of ignored files counts as deleted, and no more.
func TestAFileThatBecameADirectory(t *testing.T) {
	s := newIgnoring(t)
	to, _ := s.copyWith("c", s.origin, DefaultHow)
	s.must(errors.Join(os.Remove(s.ours("f")), os.Remove(to+"/f")))
	write(t, to+"/f/x.log", "x")
	if changed, ignored := s.takeOf("c", to, Selection{}); changed != "f" || ignored != "f/x.log" {
		t.Errorf("changed are %q, passed by %q", changed, ignored)
	}
}

// TestUnknownRules: where git cannot tell, nothing is copied and nothing taken over, and the error is known by its kind.
func TestUnknownRules(t *testing.T) {
	s := newIgnoring(t)
	to, _ := s.copyWith("c", s.origin, DefaultHow)
	write(t, to+"/new", "new")
	write(t, s.ours(".git/config"), "[broken\n")
	dest := filepath.Join(s.dir, "outbox/workspaces/d")
	s.must(os.MkdirAll(dest, 0o755))
	_, err1 := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "d", Path: dest, Root: s.open(dest)}, DefaultHow)
	_, err2 := s.store.Take(t.Context(), "c", s.open(to), Selection{})
	for _, err := range []error{err1, err2} {
		if !errors.Is(err, ErrRules) || !strings.Contains(err.Error(), "bad config") {
			t.Error(err)
		}
	}
	if there, err := os.ReadDir(dest); err != nil || len(there) > 0 {
		t.Errorf("the workspace has %v, %v", there, err)
	}
	if changed, _ := s.takeOf("c", to, Selection{Ignored: true}); changed != "new" {
		t.Errorf("on request changed are %q", changed)
	}
	s.must(errors.Join(os.RemoveAll(s.ours(".git")), os.Symlink("not/mounted", s.ours(".git"))))
	if _, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "d", Path: dest, Root: s.open(dest)}, DefaultHow); !errors.Is(err, ErrRules) {
		t.Errorf("a git directory that is not there: %v", err)
	}
}

// TestRulesWithoutEnd: Copy gives up when git reads a FIFO. It fails however slow the machine is: git never ends by itself.
func TestRulesWithoutEnd(t *testing.T) {
	s := newIgnoring(t)
	s.must(errors.Join(os.Remove(s.ours(".gitignore")), syscall.Mkfifo(s.ours(".gitignore"), 0o644)))
	s.store.patience = 500 * time.Millisecond
	dest := filepath.Join(s.dir, "outbox/workspaces/d")
	s.must(os.MkdirAll(dest, 0o755))
	if _, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "d", Path: dest, Root: s.open(dest)}, DefaultHow); !errors.Is(err, ErrRules) {
		t.Error(err)
	}
}
