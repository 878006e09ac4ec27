package lay_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local/lay"
	"torno/test/missing"
)

// ordinary is a user without any right. This machine need not know it.
const ordinary = 54321

// scene is a machine of an ordinary user's: ourselves, or as root one that the test makes.
type scene struct {
	*testing.T
	dir  string // the user's own
	lay  string // what lays a plan; without cgo, as the keeper is
	plan lay.Plan
	held []*os.File
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "torno-lay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &scene{T: t, dir: dir, lay: filepath.Join(dir, "lay")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.lay, "./testdata/lay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build what lays a plan: %v\n%s", err, out)
	}
	s.must(os.Chmod(dir, 0o755))
	s.put("nothing", "")
	s.plan = lay.Plan{
		Slots: s.mkdir("slots"), Slot: 1, Covers: mounts.Covers{Dir: s.mkdir("empty"), File: filepath.Join(dir, "nothing")},
	}
	s.mkdir("slots/1/root/shown")
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// mkdir makes a directory of the user's.
func (s *scene) mkdir(rel string) string {
	s.Helper()
	dir := filepath.Join(s.dir, rel)
	s.must(os.MkdirAll(dir, 0o755))
	for at := dir; at != s.dir; at = filepath.Dir(at) {
		s.own(at)
	}
	return dir
}

// put writes a file of the user's.
func (s *scene) put(rel, content string) {
	s.Helper()
	s.must(os.WriteFile(filepath.Join(s.dir, rel), []byte(content), 0o644))
	s.own(filepath.Join(s.dir, rel))
}

func (s *scene) own(name string) {
	s.Helper()
	if os.Geteuid() == 0 {
		s.must(os.Chown(name, ordinary, ordinary))
	}
}

// wants adds a mount to the plan, as the launcher does that has found it.
func (s *scene) wants(rel, at string, writable bool) {
	s.Helper()
	file, err := os.OpenFile(filepath.Join(s.dir, rel), unix.O_PATH, 0)
	s.must(err)
	s.Cleanup(func() { file.Close() })
	var st unix.Stat_t
	s.must(unix.Fstat(int(file.Fd()), &st))
	s.held = append(s.held, file)
	s.plan.Mounts = append(s.plan.Mounts, lay.Mount{
		Source: sandbox.Source{Base: s.dir, Rel: rel}, Device: st.Dev, Inode: st.Ino, Rel: at, Writable: writable,
	})
}

// user is how a process of the user's is started, in the namespaces of a keeper.
func (s *scene) user() *syscall.SysProcAttr {
	attr := lay.Apart()
	if os.Geteuid() == 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: ordinary, HostID: ordinary, Size: 1}}
		attr.GidMappings = attr.UidMappings
		attr.Credential = &syscall.Credential{Uid: ordinary, Gid: ordinary, NoSetGroups: true}
	}
	return attr
}

// lays has a keeper lay the plan and run a script in the slot, and returns what is said.
func (s *scene) lays(attr *syscall.SysProcAttr, script string) (said string, ok bool) {
	s.Helper()
	text, err := json.Marshal(s.plan)
	s.must(err)
	command := exec.CommandContext(s.Context(), s.lay, string(text), script)
	command.ExtraFiles, command.SysProcAttr = s.held, attr
	out, err := command.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.Fatal(err)
	}
	return string(out), err == nil
}

// says is lays where nothing fails.
func (s *scene) says(script, want string) {
	s.Helper()
	if said, ok := s.lays(s.user(), script); !ok || said != want {
		s.Errorf("%s\nsaid %q (%t), want %q", script, said, ok, want)
	}
}

// refused is lays where it must fail, and says what is to be said.
func (s *scene) refused(attr *syscall.SysProcAttr, want string) {
	s.Helper()
	if said, ok := s.lays(attr, "echo laid"); ok || !strings.Contains(said, want) {
		s.Errorf("it said %q (%t), want a refusal with %q", said, ok, want)
	}
}

func TestLay(t *testing.T) {
	s := newScene(t)
	s.mkdir("context/inner")
	s.mkdir("work")
	s.mkdir("programs")
	s.put("context/note", "read me\n")
	s.put("programs/tool", "run me\n")
	s.wants("context", "base", false)
	s.wants("work", "base/inner", true)
	s.must(s.plan.Show(filepath.Join(s.dir, "programs"), "shown"))
	s.says(`cd view0/base && cat note ../../root/shown/tool && echo new >inner/made
		echo changed 2>/dev/null >note || echo "not the context"
		echo changed 2>/dev/null >../../root/shown/tool || echo "not the programs"
		grep CapPrm /proc/self/status`,
		"read me\nrun me\nnot the context\nnot the programs\nCapPrm:\t0000000000000000\n")
	if made, err := os.ReadFile(filepath.Join(s.dir, "work/made")); err != nil || string(made) != "new\n" {
		t.Errorf("the file in the workspace: %q, %v", made, err)
	}
	if seen, err := os.ReadDir(filepath.Join(s.dir, "slots/1/view0/base")); err != nil || len(seen) != 0 {
		t.Errorf("outside is to be seen what was mounted inside: %v, %v", seen, err)
	}
}

// TestMoved: what the launcher holds is found where it has gone, and what has come to its place is not taken for it.
func TestMoved(t *testing.T) {
	s := newScene(t)
	s.mkdir("work")
	s.put("work/key", "the child's own\n")
	s.wants("work", "self", true)
	s.must(os.Rename(filepath.Join(s.dir, "work"), filepath.Join(s.dir, "moved")))
	s.mkdir("work")
	s.put("work/key", "a secret\n")
	s.says("cat view0/self/key", "the child's own\n")
}

// TestAnother: a handle of another directory than the found one is refused.
func TestAnother(t *testing.T) {
	s := newScene(t)
	s.mkdir("work")
	s.wants("work", "self", true)
	s.plan.Mounts[0].Inode++
	s.refused(s.user(), "was moved")
}

// TestBelow: an ordinary user cannot leave out what is mounted below a directory, and must not show what lies under it.
func TestBelow(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can mount what an ordinary user finds mounted")
	}
	s := newScene(t)
	s.mkdir("work/below/under")
	s.must(unix.Mount("none", filepath.Join(s.dir, "work/below"), "tmpfs", 0, ""))
	t.Cleanup(func() { s.must(unix.Unmount(filepath.Join(s.dir, "work/below"), unix.MNT_DETACH)) })
	s.put("work/below/mounted", "")
	s.must(s.plan.Show(filepath.Join(s.dir, "work"), "shown"))
	s.says("ls -A root/shown root/shown/below", "root/shown:\nbelow\n\nroot/shown/below:\n")
	s.wants("work", "self", true)
	s.refused(s.user(), mounts.ErrBelow.Error())
}

// TestNoNamespace is a machine that gives no right to mount.
func TestNoNamespace(t *testing.T) {
	s := newScene(t)
	attr := s.user()
	attr.Cloneflags, attr.UidMappings, attr.GidMappings, attr.AmbientCaps = 0, nil, nil, nil
	s.refused(attr, "no namespace: ")
}
