package patch

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/missing"
)

// saving is a content of the child's; the parent saves its own edit while that is written.
type saving struct {
	text io.Reader
	save func()
}

func (s *saving) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if errors.Is(err, io.EOF) {
		s.save()
	}
	return n, err
}

// What a parent saves between the look at a file and the new one taking its place is not lost.
func TestAnEditOfTheParentsIsNotLost(t *testing.T) {
	const edit = "the parent's own edit"
	for name, save := range map[string]func(path string) error{
		"in place": func(path string) error { return os.WriteFile(path, []byte(edit), 0o644) },
		"by rename": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(edit), 0o644), os.Rename(path+".new", path))
		},
	} {
		s := newScene(t, map[string]string{"a": "1\n", "link": "x"})
		to := target{root: s.open(s.origin)}
		was, err := to.look(t.Context(), "a")
		s.must(err)
		file, link := &Entry{Kind: File, Digest: digestOf([]byte("child's\n"))}, &Entry{Kind: Link, Target: "link"}
		from := &saving{strings.NewReader("child's\n"), func() { s.must(save(s.ours("a"))) }}
		err = to.write(t.Context(), "a", from, false, "x", over{was: was, after: file})
		if !errors.Is(err, ErrChanging) || s.has(s.ours("a")) != edit {
			t.Errorf("%s: %v, there is %q", name, err, s.has(s.ours("a")))
		}
		err = to.link(t.Context(), "a", "link", "x", over{was: was, after: link})
		if !errors.Is(err, ErrChanging) || s.has(s.ours("a")) != edit {
			t.Errorf("%s: %v, there is %q", name, err, s.has(s.ours("a")))
		}
		if err := to.remove(t.Context(), "a", "x", was); !errors.Is(err, ErrChanging) || s.has(s.ours("a")) != edit {
			t.Errorf("%s: %v, there is %q", name, err, s.has(s.ours("a")))
		}
		if left := s.beside(s.origin); len(left) > 0 {
			t.Errorf("%s: left is %q", name, left)
		}
		if err := to.remove(t.Context(), "a", "x", &Entry{Kind: Directory}); err == nil || s.has(s.ours("a")) != edit {
			t.Errorf("%s: %v, there is %q", name, err, s.has(s.ours("a")))
		}
	}
}

// A file that only its owner can read is that while it is written too, and stays its owner's.
func TestAPrivateFileStaysPrivate(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1\n"})
	s.must(os.Chmod(s.ours("a"), 0o600))
	if os.Getuid() == 0 {
		s.must(os.Chown(s.ours("a"), 12345, 12346))
	}
	before, err := os.Stat(s.ours("a"))
	s.must(err)
	to := target{root: s.open(s.origin)}
	was, err := to.look(t.Context(), "a")
	s.must(err)
	from := &saving{strings.NewReader("child's\n"), func() {
		if info, err := os.Stat(s.ours(".torno-x")); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("while it is written it is %v, %v", info.Mode(), err)
		}
	}}
	s.must(to.write(t.Context(), "a", from, true, "x", over{was: was}))
	after, err := os.Stat(s.ours("a"))
	s.must(err)
	x, y := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if x.Uid != y.Uid || x.Gid != y.Gid || after.Mode().Perm() != 0o700 || read(t, s.ours("a")) != "child's\n" {
		t.Errorf("it was %d:%d and is %d:%d, %v", x.Uid, x.Gid, y.Uid, y.Gid, after.Mode())
	}
}

// What the parent has mounted in its directory is not written to.
func TestNothingIsWrittenToAnotherFileSystem(t *testing.T) {
	s := newScene(t, map[string]string{"a": "1"})
	s.must(os.Mkdir(s.ours("mounted"), 0o755))
	write(t, s.child("mounted/x"), "x")
	if err := unix.Mount("torno-test", s.ours("mounted"), "tmpfs", 0, "size=1m"); err != nil {
		missing.Skip(t, "nothing can be mounted here:", err)
	}
	t.Cleanup(func() { unix.Unmount(s.ours("mounted"), unix.MNT_DETACH) })
	// Its git directory may lie elsewhere: that is only read.
	s.must(os.MkdirAll(s.ours("mounted/git/hooks"), 0o755))
	s.must(os.Mkdir(s.ours(".git"), 0o755))
	s.must(unix.Mount(s.ours("mounted/git"), s.ours(".git"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(s.ours(".git"), unix.MNT_DETACH) })
	if plan := s.plan(); !refuses(plan, trap{path: "mounted/x", why: "another file system"}) {
		t.Errorf("refused is %q, steps are %+v", plan.Refused, plan.Steps)
	}
}
