package patch

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// trap is something that a child leaves in its workspace.
type trap struct {
	name  string
	path  string // what is refused
	why   string // is in the reason
	plant func(s *scene) error
}

// put writes a file of the child's.
func put(path, text string) func(*scene) error {
	return func(s *scene) error {
		write(s, s.child(path), text)
		return nil
	}
}

func link(path, target string) func(*scene) error {
	return func(s *scene) error { return os.Symlink(strings.ReplaceAll(target, "$DIR", s.dir), s.child(path)) }
}

var traps = []trap{
	{"a link out, absolute", "x", "leads out", link("x", "$DIR/secret")},
	{"a link out, upwards", "x", "leads out", link("x", "../../../secret")},
	{"a link out, up after down", "x", "leads out", link("x", "sub/../../../../secret")},
	{"a link out, from below", "sub/x", "leads out", link("sub/x", "../../../../secret")},
	{"a link out in place of a file", "a.txt", "leads out", func(s *scene) error {
		return errorsOf(os.Remove(s.child("a.txt")), os.Symlink(s.dir+"/secret", s.child("a.txt")))
	}},
	{"a link out in place of a directory", "sub", "leads out", func(s *scene) error {
		return errorsOf(os.RemoveAll(s.child("sub")), os.Symlink(s.dir, s.child("sub")))
	}},
	{"a link into a git directory", "x", "into a git directory", link("x", ".git/hooks/pre-commit")},
	{"a link through a link of the parent's", "x", "through \"away\"", link("x", "away/secret")},
	{"a link to nothing that can be seen", "x", "unreadable name", link("x", "a\x1b[2J")},
	{"a FIFO", "x", "FIFO", func(s *scene) error { return unix.Mkfifo(s.child("x"), 0o644) }},
	{"a FIFO in place of a file", "a.txt", "FIFO", func(s *scene) error {
		return errorsOf(os.Remove(s.child("a.txt")), unix.Mkfifo(s.child("a.txt"), 0o644))
	}},
	{"a socket", "x", "socket", func(s *scene) error { return unix.Mknod(s.child("x"), unix.S_IFSOCK|0o644, 0) }},
	{"a set-uid file", "x", "set-id", func(s *scene) error {
		return errorsOf(put("x", "#!")(s), os.Chmod(s.child("x"), 0o755|os.ModeSetuid))
	}},
	{"a set-gid file in place of one", "a.txt", "set-id", func(s *scene) error { return os.Chmod(s.child("a.txt"), 0o755|os.ModeSetgid) }},
	{"a second name of another file", "x", "several names", func(s *scene) error { return os.Link(s.dir+"/secret", s.child("x")) }},
	{"a name with an escape", "a\x1b]0;x\a", "invisible characters", put("a\x1b]0;x\a", "x")},
	{"a name with a line end", "a\nb", "invisible characters", put("a\nb", "x")},
	{"a name that turns the text", "a\u202egpj.exe", "invisible characters", put("a\u202egpj.exe", "x")},
	{"a name that is not UTF-8", "a\xff", "not UTF-8", put("a\xff", "x")},
	{"a directory of such a name", "d\x1b", "invisible characters", put("d\x1b/x", "x")},
	{"a name that differs in case", "A.TXT", "a.txt", put("A.TXT", "x")},
	{"two new names that differ in case", "New", "NEW", func(s *scene) error { return errorsOf(put("NEW", "x")(s), put("New", "y")(s)) }},
	{"two new names in two Unicode forms", "\u00e9", "e\u0301", func(s *scene) error { return errorsOf(put("e\u0301", "x")(s), put("\u00e9", "y")(s)) }},
	{"a directory that differs in case", "SUB", "sub", put("SUB/x", "x")},
	{"the case of what only the parent has", "MINE.TXT", "mine.txt", put("MINE.TXT", "x")},
	{"a path too long", "", "too long", func(s *scene) error { return deep(s, 40, strings.Repeat("n", 120)) }},
	{"directories without end", "", "deeper than", func(s *scene) error { return deep(s, maxDepth+40, "d") }},
	{"a file that says it has 4 TiB", "x", "too big", func(s *scene) error {
		return errorsOf(put("x", "")(s), os.Truncate(s.child("x"), 4<<40))
	}},
}

// deep makes directories in each other.
func deep(s *scene, levels int, name string) error {
	at := s.open(s.workspace)
	for range levels {
		if err := at.Mkdir(name, 0o755); err != nil {
			return err
		}
		next, err := at.OpenRoot(name)
		at.Close()
		if err != nil {
			return err
		}
		at = next
	}
	return at.Close()
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func hostileScene(t *testing.T) *scene {
	s := newScene(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n", ".git/hooks/sample": "x", ".git/config": "[core]"})
	write(t, s.dir+"/secret", "the parent's key")
	write(t, s.ours("mine.txt"), "mine")
	s.must(os.Symlink(s.dir, s.ours("away")))
	return s
}

// Each trap is refused with its reason, and keeps everything from being written; get leaves it out, diff shows no secret.
func TestTraps(t *testing.T) {
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			s := hostileScene(t)
			write(t, s.child("harmless.txt"), "harmless\n")
			if err := trap.plant(s); err != nil {
				t.Skip("cannot be made here:", err)
			}
			before := listing(t, s.origin)
			plan := s.plan()
			if plan.Fits() || !refuses(plan, trap) {
				t.Errorf("refused is %q", plan.Refused)
			}
			if _, err := plan.Apply(t.Context()); err == nil {
				t.Error("it was applied")
			}
			if after := listing(t, s.origin); !maps.Equal(before, after) {
				t.Errorf("there is %q, was %q", after, before)
			}
			if shown := s.shown(); strings.Contains(shown, "the parent's key") || strings.ContainsAny(shown, "\x1b\a\u202e") || !utf8.ValidString(shown) {
				t.Errorf("shown is %q", shown)
			}
			s.getsNoTrap(trap)
		})
	}
}

func refuses(plan *Plan, trap trap) bool {
	for _, r := range plan.Refused {
		if (trap.path == "" || r.Path == trap.path) && strings.Contains(r.Why, trap.why) {
			return true
		}
	}
	return false
}

// ofThePlan are traps that lie in what the parent has, which get does not look at.
var ofThePlan = map[string]bool{"a link through a link of the parent's": true, "the case of what only the parent has": true}

func (s *scene) getsNoTrap(trap trap) {
	s.Helper()
	to := s.dir + "/got"
	left := s.get(to)
	why, found := left[trap.path]
	for path, reason := range left {
		if trap.path == "" && strings.Contains(reason, trap.why) {
			why, found = reason, path != ""
		}
	}
	if !ofThePlan[trap.name] && !found && !strings.Contains(trap.name, "in case") {
		s.Errorf("left out is %q, %q", left, why)
	}
	for path, content := range listing(s, to) {
		if strings.Contains(content, "the parent's key") || nameFault(path[len(to):]) != "" {
			s.Errorf("%q is %q", path, content)
		}
	}
	if read(s, to+"/harmless.txt") != "harmless\n" {
		s.Error("what is harmless was not copied")
	}
}

// A git directory is neither taken nor copied nor shown, whatever its name looks like.
func TestGitDirectoriesArePassedBy(t *testing.T) {
	for _, name := range []string{".git", ".GIT", ".Git ", ".git.", ".g\u200cit", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", "\uff0egit", ".hg", ".jj", ".SL", ".bzr", "_darcs", ".svn", "HG~1"} {
		t.Run(name, func(t *testing.T) {
			s := hostileScene(t)
			write(t, s.child(name+"/hooks/pre-commit"), "#!/bin/sh\ntouch owned")
			write(t, s.child("sub/"+name+"/config"), "[core]\nfsmonitor = touch owned")
			before := listing(t, s.origin)
			if s.apply(); !maps.Equal(before, listing(t, s.origin)) {
				t.Errorf("there is %q, was %q", listing(t, s.origin), before)
			}
			if shown := s.shown(); shown != "" {
				t.Errorf("shown is %q", shown)
			}
			if s.get(s.dir + "/got"); len(listing(t, s.dir+"/got")) != 4 {
				t.Errorf("copied is %q", listing(t, s.dir+"/got"))
			}
		})
	}
	s := hostileScene(t)
	if _, err := os.Lstat(s.child(".git")); err == nil {
		t.Error("the child was given the parent's git directory")
	}
	write(t, s.child(".git"), "gitdir: /elsewhere") // as of a worktree
	if s.apply(); read(t, s.ours(".git/config")) != "[core]" {
		t.Error("the parent's git directory was changed")
	}
}

// A diff shows no more of what is refused than that it is there. So a patch of it, for git apply, would not make it.
func TestADiffIsNoWayAroundARefusal(t *testing.T) {
	s := hostileScene(t)
	s.must(os.Symlink("../../../etc/passwd", s.child("out")))
	s.must(os.Remove(s.child("a.txt")))
	s.must(os.Symlink("/etc/shadow", s.child("a.txt")))
	write(t, s.child("REA\u034fDME"), "evil\n")
	s.must(os.Symlink("sub", s.child("harmless")))
	shown := s.shown()
	for _, secret := range []string{"/etc/", "evil", "@@ -1 +0,0 @@"} {
		if strings.Contains(shown, secret) {
			t.Errorf("shown is %s", shown)
		}
	}
	if !strings.Contains(shown, "Binary files /dev/null and b/out differ") || !strings.Contains(shown, "\n+sub\n") {
		t.Errorf("shown is %s", shown)
	}
	cmd := exec.Command("git", "apply", "--unsafe-paths", "-")
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(shown)
	if said, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("git takes it: %s", said)
	}
}

// Characters that an eye misses make no name ordinary: they are refused, hide no git directory and no file that runs by itself,
// and make no second name.
func TestCharactersThatCannotBeSeen(t *testing.T) {
	for _, r := range []rune{0x34f, 0xfe0f, 0x3164, 0x115f, 0x1160, 0x17b4, 0x180b, 0xffa0, 0xe0100, 0x2800, 0x200b, 0xad, 0x2064} {
		with := strings.NewReplacer("_", string(r)).Replace
		if nameFault(with("READ_ME")) == "" || nameFault(with("_")) == "" {
			t.Errorf("%U passes for visible", r)
		}
		if !isVersionControl(with(".g_it")) || !isVersionControl(with("_.git_")) {
			t.Errorf("%U hides a git directory", r)
		}
		if onTheList(with(".en_vrc")) == "" || fold(with("READ_ME")) != fold("readme") {
			t.Errorf("%U makes another name", r)
		}
		if quoted := quoteName(with("a/x_y")); strings.ContainsRune(quoted, r) {
			t.Errorf("%U is shown as it is: %q", r, quoted)
		}
	}
	if nameFault("Straße 1/größer – é.txt") != "" || nameFault("日本語.md") != "" {
		t.Error("an ordinary name is refused")
	}
}

// A link of the parent's, where the child writes a directory, leads no write out.
func TestNothingIsWrittenThroughALinkOfTheParents(t *testing.T) {
	s := hostileScene(t)
	write(t, s.child("away/planted"), "x")
	write(t, s.child("sub/new"), "x")
	s.must(os.RemoveAll(s.ours("sub")))
	s.must(os.Symlink("../", s.ours("sub")))
	plan := s.plan()
	if len(plan.Conflicts) < 2 {
		t.Errorf("conflicts are %q", plan.Conflicts)
	}
	for _, name := range []string{"planted", "new", "../new"} {
		if _, err := os.Lstat(s.dir + "/" + name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	// What lies behind the link is not the parent's file that the child was given, although it looks the same.
	s = newScene(t, map[string]string{"sub/b.txt": "b"})
	s.must(os.RemoveAll(s.child("sub")))
	s.must(os.Rename(s.ours("sub"), s.dir+"/was"))
	s.must(os.Symlink(s.dir+"/was", s.ours("sub")))
	for _, step := range s.plan().Steps {
		t.Errorf("it would have %s %s", step.What(), step.Change.Path)
	}
	// Also where the link comes between the plan and its steps.
	s = newScene(t, map[string]string{"sub/b.txt": "b"})
	write(t, s.child("sub/new"), "x")
	plan = s.plan()
	s.must(os.Rename(s.ours("sub"), s.dir+"/was"))
	s.must(os.Symlink(s.dir, s.ours("sub")))
	if _, err := plan.Apply(t.Context()); err == nil {
		t.Error("the plan was carried out")
	}
	if _, err := os.Lstat(s.dir + "/new"); err == nil {
		t.Error("it wrote through the link")
	}
}

// What was judged is what is written, whatever the child makes of its file after that.
func TestWhatWasJudgedIsWritten(t *testing.T) {
	s := hostileScene(t)
	write(t, s.child("a.txt"), "judged")
	plan := s.plan()
	write(t, s.child("a.txt"), "exchanged")
	_, err := plan.Apply(t.Context())
	if s.must(err); read(t, s.ours("a.txt")) != "judged" {
		t.Errorf("it wrote %q", read(t, s.ours("a.txt")))
	}
}

// More names than the bounds allow end a look; nothing is taken for deleted that was not seen.
func TestTooManyNamesAreAnError(t *testing.T) {
	s := hostileScene(t)
	for i := range 30 {
		write(t, s.child(fmt.Sprint("many/", i)), "")
	}
	w := walk{ctx: t.Context(), limits: Limits{Files: 20, Bytes: 1}, visit: func(found) error { return nil }}
	if err := w.run(s.open(s.workspace)); err == nil || !strings.Contains(err.Error(), "more than 20") {
		t.Error(err)
	}
}

// A directory that cannot be read is refused, and what was in it is not deleted.
func TestAnUnreadableDirectoryDeletesNothing(t *testing.T) {
	s := hostileScene(t)
	if os.Getuid() == 0 {
		defer asNobody(s)()
	}
	s.must(os.Chmod(s.child("sub"), 0))
	defer os.Chmod(s.child("sub"), 0o755)
	plan := s.plan()
	if plan.Fits() || !refuses(plan, trap{path: "sub", why: "cannot be read"}) {
		t.Errorf("refused is %q", plan.Refused)
	}
	sub, err := Select([]string{"sub/b.txt"}, nil)
	s.must(err)
	if changes := s.take(sub).Changes; len(changes) == 0 || changes[0].Refused == "" {
		t.Errorf("a part of it is %+v", changes)
	}
}
