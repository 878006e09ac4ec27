package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/sandbox"
	"torno/test/attack"
	"torno/test/wait"
)

// swap exchanges two names over and over, until the test ends. While one of them carries a mount that we see it is busy;
// an attacker in a mount namespace of its own would not be told so.
func swap(t *testing.T, a, b string) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil && !errors.Is(err, unix.EBUSY) {
				done <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			t.Errorf("the attacker stopped: %v", err)
		}
	})
}

// A parent exchanges its workspace, or a directory on the way to it, for a link to something of the host's. Mounting by
// handle shows the workspace or refuses; checking the path and then mounting it, as others do, is beaten meanwhile.
func TestExchangedForALink(t *testing.T) {
	for _, tc := range []struct{ name, rel, swapped string }{
		{"the workspace", "a/ws", "a/ws"},
		{"a directory on the way", "a/ws", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			ws, victim := w.pin(mustDir(w, tc.rel)), t.TempDir()
			w.ok(os.Mkdir(filepath.Join(victim, "ws"), 0o755))
			w.ok(os.Symlink(victim, filepath.Join(w.root, "bait")))
			naive := &naiveMounter{t: t, path: filepath.Join(w.root, tc.rel), target: t.TempDir(), wanted: ws}
			slot := w.slot()
			swap(t, filepath.Join(w.root, tc.swapped), filepath.Join(w.root, "bait"))

			placed, refused := 0, 0
			for end := time.Now().Add(wait.Patience); placed < 20 || refused < 20 || naive.beaten == 0; {
				if time.Now().After(end) {
					t.Fatalf("in a minute: placed %d, refused %d, the naive way beaten %d times", placed, refused, naive.beaten)
				}
				if w.mountByHandle(slot, tc.rel, ws) {
					placed++
				} else {
					refused++
				}
				naive.mount()
			}
			t.Logf("placed %d, refused %d; of %d naive mounts %d showed something else", placed, refused, naive.mounted, naive.beaten)
		})
	}
}

func mustDir(w *world, rel string) string {
	w.dir(rel, 1000)
	return rel
}

// mountByHandle says whether the workspace could be mounted. What is seen at the end must be what is wanted.
func (w *world) mountByHandle(slot *Slot, rel string, wanted *Pin) bool {
	w.t.Helper()
	if err := w.mount(slot, rel, "ws", false); err != nil {
		wantKind(w.t, err, KindLink)
		return false
	}
	if !wanted.same(view(w.t, slot, 0, "ws")) {
		w.t.Fatal("another directory than the workspace was mounted")
	}
	w.ok(slot.Clear())
	return true
}

// naiveMounter checks a path and mounts it, the way that is to be beaten.
type naiveMounter struct {
	t               *testing.T
	path, target    string
	wanted          *Pin
	mounted, beaten int
}

func (n *naiveMounter) mount() {
	real, err := filepath.EvalSymlinks(n.path)
	if err != nil || real != n.path {
		return // the check
	}
	if err := unix.Mount(n.path, n.target, "", unix.MS_BIND, ""); err != nil {
		return
	}
	n.mounted++
	if !n.wanted.same(n.target) {
		n.beaten++
	}
	if err := unix.Unmount(n.target, unix.MNT_DETACH); err != nil {
		n.t.Fatal(err)
	}
}

// The place of a workspace inside a context lies in the parent's own tree: it exchanges that for a link to something of
// the host's, which must never become a mount point.
func TestThePlaceIsExchangedForALink(t *testing.T) {
	w := newWorld(t)
	w.dir("ctx/ws", 1000)
	w.dir("ws", 1000)
	victim := t.TempDir()
	w.ok(os.Symlink(victim, filepath.Join(w.root, "ctx/bait")))
	slot := w.slot()
	swap(t, filepath.Join(w.root, "ctx/ws"), filepath.Join(w.root, "ctx/bait"))

	placed, refused, beaten := 0, 0, 0
	for end := time.Now().Add(wait.Patience); placed < 20 || refused < 20 || beaten == 0; {
		if time.Now().After(end) {
			t.Fatalf("in a minute: placed %d, refused %d, the naive way beaten %d times", placed, refused, beaten)
		}
		w.ok(w.mount(slot, "ctx", "ctx", true))
		switch err := w.mount(slot, "ws", "ctx/ws", false); {
		case errors.Is(err, ErrNoPlace):
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			placed++
		}
		if points := mountsBelow(t, victim); len(points) != 0 {
			t.Fatalf("a directory of the host's became a mount point: %q", points)
		}
		w.ok(slot.Clear())
		if naivePlace(w, slot, victim) {
			beaten++
		}
	}
	t.Logf("placed %d, refused %d; the naive way was beaten %d times", placed, refused, beaten)
}

// TestTheWorkspacesAreALink: a root that lies in the outbox is the parent's to replace, before a run and between two. It is
// opened beneath the outbox each time. The oracle goes by the path.
func TestTheWorkspacesAreALink(t *testing.T) {
	outbox, bases := openRoot(t)
	victim, workspaces := t.TempDir(), filepath.Join(outbox, "workspaces")
	trial := attack.Trial{Row: "O25", Where: "pin", Oracle: true}
	must(t, os.Mkdir(filepath.Join(victim, "s1"), 0o755), os.Symlink(victim, filepath.Join(outbox, "around")))
	for _, target := range []string{victim, "../" + filepath.Base(victim), "around", outbox + "/around"} {
		os.RemoveAll(workspaces)
		must(t, os.MkdirAll(filepath.Join(workspaces, "s1"), 0o755))
		pin, err := bases.Pin(sandbox.Source{Base: outbox, Rel: "workspaces/s1"})
		must(t, err, pin.Close(), os.RemoveAll(workspaces), os.Symlink(target, workspaces))
		trial.Tried++
		_, err = bases.Pin(sandbox.Source{Base: outbox, Rel: "workspaces/s1"})
		if wantKind(t, err, KindLink); err != nil {
			trial.Held++
		}
		held, err := os.Stat(filepath.Join(victim, "s1"))
		must(t, err)
		byPath, err := os.Stat(filepath.Join(workspaces, "s1"))
		trial.Oracle = trial.Oracle && err == nil && os.SameFile(held, byPath)
	}
	attack.Record(t, trial)
}

// naivePlace mounts at a path that it has looked at, and says whether it hit the victim.
func naivePlace(w *world, slot *Slot, victim string) bool {
	w.ok(w.mount(slot, "ctx", "ctx", true))
	target := view(w.t, slot, 0, "ctx/ws")
	if info, err := os.Lstat(target); err == nil && info.IsDir() {
		unix.Mount(filepath.Join(w.root, "ws"), target, "", unix.MS_BIND, "") // it may fail, if the parent was quicker still
	}
	hit := len(mountsBelow(w.t, victim)) > 0
	if hit {
		w.ok(unix.Unmount(victim, unix.MNT_DETACH))
	}
	w.ok(slot.Clear())
	return hit
}
