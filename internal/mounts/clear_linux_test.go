package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestClearLeavesTheSlotAsNew(t *testing.T) {
	w := newWorld(t)
	w.dir("ctx/ws", 1000)
	w.file("ctx/ws/work", "", 1000)
	w.file("notes", "", 0)
	before := listing(t, w.root)
	slot := w.slot()
	for range 2 {
		w.ok(slot.Place(w.tree("ctx", true), 0, "p/ctx"))
		w.ok(slot.Place(w.tree("ctx/ws", false), 0, "p/ctx/ws"))
		w.ok(slot.Place(w.tree("notes", true), 0, "p/notes"))
		w.ok(slot.Place(w.tree("ctx", true), 1, "."))
		w.ok(os.WriteFile(filepath.Join(slot.RunDir(), "run.json"), nil, 0o644))
		for range 2 {
			w.ok(slot.Clear())
			for _, dir := range []string{slot.RunDir(), view(t, slot, 0, "."), view(t, slot, 1, ".")} {
				if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
					t.Errorf("%s holds %v (%v)", dir, names, err)
				}
			}
		}
	}
	if points := mountsBelow(t, slot.Path()); len(points) != 0 {
		t.Errorf("still mounted: %q", points)
	}
	if after := listing(t, w.root); after != before {
		t.Errorf("the user's tree changed from\n%s\nto\n%s", before, after)
	}
}

// A mount that cannot be ended: not a byte of what it shows may go, and the slot must not be given to another.
func TestClearDeletesNothingThroughAMount(t *testing.T) {
	w := newWorld(t)
	w.dir("ctx/ws", 1000)
	w.file("ctx/ws/work", "", 1000)
	w.file("notes", "", 0)
	before := listing(t, w.root)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ctx", false), 0, "p/ctx"))
	w.ok(slot.Place(w.tree("ctx/ws", false), 0, "p/ctx/ws"))
	w.ok(slot.Place(w.tree("notes", false), 1, "notes"))
	for name, f := range map[string]func() error{"Clear": slot.Clear, "Free": slot.Free} {
		if err := withoutTheRightToMount(f); !errors.Is(err, unix.EPERM) {
			t.Errorf("%s without the right to unmount: %v", name, err)
		}
		if after := listing(t, w.root); after != before {
			t.Fatalf("%s changed the user's tree from\n%s\nto\n%s", name, before, after)
		}
	}
	if next := w.slot(); next.Number() == slot.Number() {
		t.Error("a slot that could not be emptied was given away")
	}
	w.ok(slot.Free())
}

// withoutTheRightToMount runs f with all rights but CAP_SYS_ADMIN.
func withoutTheRightToMount(f func() error) error {
	return onThread(func() error {
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&head, &caps[0]); err != nil {
			return err
		}
		caps[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
		if err := unix.Capset(&head, &caps[0]); err != nil {
			return err
		}
		return f()
	})
}

// The way to a mount inside a context leads through names that the parent can exchange. Unmounting by such a path hits
// something of the host's; Clear does not walk it.
func TestClearUnmountsNothingOfTheHosts(t *testing.T) {
	w := newWorld(t)
	host := t.TempDir()
	w.ok(os.Mkdir(filepath.Join(host, "home"), 0o755))
	hold := func() {
		w.ok(unix.Mount("torno-test", filepath.Join(host, "home"), "tmpfs", 0, "size=64k"))
	}
	hold()
	defer unix.Unmount(filepath.Join(host, "home"), unix.MNT_DETACH)
	mounted := func() bool { return len(mountsBelow(t, filepath.Join(host, "home"))) == 1 }

	w.dir("ctx/a/home", 1000)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ctx", true), 0, "ctx"))
	w.ok(slot.Place(w.tree("ctx/a/home", false), 0, "ctx/a/home"))
	w.ok(os.Rename(filepath.Join(w.root, "ctx/a"), filepath.Join(w.root, "ctx/b")))
	w.ok(os.Symlink(host, filepath.Join(w.root, "ctx/a")))

	w.ok(unix.Unmount(view(t, slot, 0, "ctx/a/home"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW))
	if mounted() {
		t.Fatal("the attack does not work: the naive way did not unmount the host's mount")
	}
	hold()
	w.ok(slot.Clear())
	if !mounted() {
		t.Error("Clear unmounted something of the host's")
	}
	if points := mountsBelow(t, slot.Path()); len(points) != 0 {
		t.Errorf("still mounted: %q", points)
	}
}

// Clear also removes mounts of other programs in the slot.
func TestClearTakesWhateverIsThere(t *testing.T) {
	w := newWorld(t)
	slot := w.slot()
	for range 3 {
		w.ok(unix.Mount("torno-test", slot.RunDir(), "tmpfs", 0, "size=64k"))
	}
	w.ok(os.MkdirAll(view(t, slot, 0, "x/y"), 0o755))
	w.ok(unix.Mount("torno-test", view(t, slot, 0, "x/y"), "tmpfs", 0, "size=64k"))
	w.ok(os.Symlink(w.root, view(t, slot, 0, "link")))
	w.file("kept", "", 0)
	w.ok(slot.Free())
	if _, err := os.Stat(filepath.Join(w.root, "kept")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}
