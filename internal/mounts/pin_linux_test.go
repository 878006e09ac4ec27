package mounts

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// openRoot is a root that needs no right to mount.
func openRoot(t *testing.T) (string, *Bases) {
	t.Helper()
	root := t.TempDir()
	bases, err := OpenBases([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bases.Close() })
	return root, bases
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPinFindsDirectoriesAndFiles(t *testing.T) {
	root, bases := openRoot(t)
	must(t, os.MkdirAll(filepath.Join(root, "a/b/..c/-d e\n"), 0o755), os.WriteFile(filepath.Join(root, "a/f"), nil, 0o600))
	for rel, dir := range map[string]bool{".": true, "a": true, "a/b": true, "a/b/..c/-d e\n": true, "a/f": false} {
		pin, err := bases.Pin(sandbox.Source{Base: root, Rel: rel})
		if err != nil {
			t.Errorf("%q: %v", rel, err)
			continue
		}
		if pin.Dir != dir || !pin.same(filepath.Join(root, rel)) || pin.Owner() != owner(t, filepath.Join(root, rel)) {
			t.Errorf("%q was pinned as %+v", rel, pin)
		}
		if here, err := pin.HerePath(); err != nil || here != filepath.Join(root, rel) {
			t.Errorf("%q is said to be at %q (%v)", rel, here, err)
		}
		must(t, pin.Close())
	}
}

func TestPinRefuses(t *testing.T) {
	root, bases := openRoot(t)
	must(t,
		os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755),
		os.WriteFile(filepath.Join(root, "file"), nil, 0o600),
		os.WriteFile(filepath.Join(root, "two"), nil, 0o600),
		os.Link(filepath.Join(root, "two"), filepath.Join(root, "names")),
		os.Symlink("a", filepath.Join(root, "inside")),
		os.Symlink("/etc", filepath.Join(root, "outside")),
		os.Symlink("../..", filepath.Join(root, "a/up")),
		os.Symlink("/proc/self/root", filepath.Join(root, "a/b/magic")),
		os.Symlink(root, filepath.Join(root, "a/b/c/round")),
		os.Symlink("nowhere", filepath.Join(root, "dangling")),
		unix.Mkfifo(filepath.Join(root, "fifo"), 0o600),
	)
	socket, err := net.Listen("unix", filepath.Join(root, "sock"))
	must(t, err)
	defer socket.Close()

	long := strings.Repeat("n", 256)
	for rel, kind := range map[string]Kind{
		"": KindInvalid, "a/": KindInvalid, "a//b": KindInvalid, "./a": KindInvalid, "a/./b": KindInvalid, "a\x00b": KindInvalid,
		"a/" + long: KindInvalid, strings.Repeat("d/", 2500) + "d": KindInvalid, strings.Repeat("d/", maxDepth) + "d": KindInvalid,
		"..": KindEscapes, "../x": KindEscapes, "a/../b": KindEscapes, "a/..": KindEscapes, "/etc": KindEscapes, "/": KindEscapes,
		"nothing": KindMissing, "a/nothing/c": KindMissing,
		"inside": KindLink, "inside/b": KindLink, "outside": KindLink, "outside/passwd": KindLink, "a/up": KindLink, "a/up/x": KindLink,
		"a/b/magic": KindLink, "a/b/magic/etc": KindLink, "a/b/c/round": KindLink, "a/b/c/round/a": KindLink, "dangling": KindLink,
		"two": KindLink, "names": KindLink,
		"file/x": KindNotDir, "fifo/x": KindNotDir,
		"fifo": KindSpecial, "sock": KindSpecial,
	} {
		pin, err := bases.Pin(sandbox.Source{Base: root, Rel: rel})
		if pin != nil {
			t.Errorf("%q was pinned", rel)
			pin.Close()
		}
		wantKind(t, err, kind)
		if err != nil && strings.Contains(err.Error(), "%!") || err == nil {
			t.Errorf("%q: the error reads %v", rel, err)
		}
	}
	_, err = bases.Pin(sandbox.Source{Base: "/etc", Rel: "passwd"})
	wantKind(t, err, KindEscapes)
}

func TestPinRefusesADevice(t *testing.T) {
	w := newWorld(t)
	w.ok(unix.Mknod(filepath.Join(w.root, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	_, err := w.bases.Pin(w.source("null"))
	wantKind(t, err, KindSpecial)
}

func TestPinRefusesAnotherMount(t *testing.T) {
	w := newWorld(t)
	tmpfs(t, w.dir("a/disk", 0))
	w.dir("a/disk/ws", 0)
	for _, rel := range []string{"a/disk", "a/disk/ws"} {
		_, err := w.bases.Pin(w.source(rel))
		wantKind(t, err, KindMountpoint)
	}
}

func TestPinWithoutTheRight(t *testing.T) {
	w := newWorld(t)
	w.dir("closed/ws", 0)
	w.ok(os.Chmod(filepath.Join(w.root, "closed"), 0o700))
	err := asUser(child, func() error {
		_, err := w.bases.Pin(w.source("closed/ws"))
		return err
	})
	wantKind(t, err, KindDenied)
}

// The root is held: a link in its place misleads no lookup, and what was removed is missing.
func TestPinWhenTheRootIsExchanged(t *testing.T) {
	outer, moved := t.TempDir(), t.TempDir()
	root, victim := filepath.Join(outer, "root"), filepath.Join(outer, "victim")
	must(t, os.MkdirAll(filepath.Join(root, "ws"), 0o755), os.MkdirAll(filepath.Join(victim, "ws"), 0o755))
	bases, err := OpenBases([]string{root})
	must(t, err)
	defer bases.Close()
	must(t, os.Rename(root, filepath.Join(moved, "root")), os.Symlink(victim, root))

	pin, err := bases.Pin(sandbox.Source{Base: root, Rel: "ws"})
	must(t, err)
	defer pin.Close()
	if !pin.same(filepath.Join(moved, "root/ws")) {
		t.Error("the pinned directory is not the one beneath the held root")
	}
	if here, err := pin.HerePath(); err != nil || here != filepath.Join(moved, "root/ws") {
		t.Errorf("the directory is said to be at %q (%v)", here, err)
	}

	must(t, os.RemoveAll(filepath.Join(moved, "root")))
	for _, rel := range []string{"ws", "."} {
		_, err := bases.Pin(sandbox.Source{Base: root, Rel: rel})
		if wantKind(t, err, KindMissing); !errors.Is(err, ErrRootGone) {
			t.Errorf("%q: %v does not say that the root is gone", rel, err)
		}
	}
	_, err = pin.HerePath()
	wantKind(t, err, KindMissing)
}

func TestOpenBasesFollowsTheOperatorsLinkOnce(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.MkdirAll(filepath.Join(dir, "one/ws"), 0o755), os.MkdirAll(filepath.Join(dir, "two/ws"), 0o755), os.Symlink("one", link))
	bases, err := OpenBases([]string{link, link})
	must(t, err)
	defer bases.Close()
	must(t, os.Remove(link), os.Symlink("two", link))
	pin, err := bases.Pin(sandbox.Source{Base: link, Rel: "ws"})
	must(t, err)
	defer pin.Close()
	if !pin.same(filepath.Join(dir, "one/ws")) {
		t.Error("the operator's link was followed again")
	}
}

func TestOpenBasesRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, path := range []string{"relative", dir + "/", dir + "/../x", filepath.Join(dir, "missing"), filepath.Join(dir, "file")} {
		if bases, err := OpenBases([]string{dir, path}); err == nil {
			bases.Close()
			t.Errorf("%q was accepted", path)
		}
	}
}

// A link that another user can exchange leads wherever that user likes, and its target is mounted with its owner's rights.
func TestOpenBasesRefusesTheLinkOfAnother(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	ours, theirs, target := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs"), filepath.Join(dir, "target")
	must(t, os.Mkdir(ours, 0o755), os.Mkdir(theirs, 0o755), os.MkdirAll(filepath.Join(target, "ws"), 0o755))
	for _, link := range []string{"ours/root", "ours/their", "theirs/root", "theirs/their"} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	must(t, os.Symlink("theirs/their", filepath.Join(dir, "through")), os.Symlink("../target/./", filepath.Join(ours, "up")), os.Symlink("round", filepath.Join(dir, "round")))
	for _, path := range []string{"theirs", "ours/their", "theirs/their"} {
		must(t, os.Lchown(filepath.Join(dir, path), int(child.UID), int(child.GID)))
	}
	for path, want := range map[string]string{
		"ours/root": "", "ours/root/ws": "", "ours/up": "", "ours/up/ws": "",
		"ours/their": "another user", "ours/their/ws": "another user", "theirs/their": "another user", "through": "another user",
		"theirs/root": "another user", "theirs/root/ws": "another user", // by rename they choose among the links of root
		"round": "too many levels",
	} {
		bases, err := OpenBases([]string{filepath.Join(dir, path)})
		if err == nil {
			bases.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// A machine that hides openat2 is told from one on which a name is wrong.
func TestACallThatIsHidden(t *testing.T) {
	if err := whereHidden(unix.ENOSYS); !errors.Is(err, unix.ENOSYS) || !strings.Contains(err.Error(), "RestrictSUIDSGID") {
		t.Error(err)
	}
	for _, err := range []error{nil, unix.ENOENT, unix.EPERM} {
		if got := whereHidden(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
