package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPlaceOneInsideTheOther(t *testing.T) {
	w := newWorld(t)
	w.dir("ctx/deep/ws", 1000)
	w.file("ctx/notes", "read me", 0)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ctx", true), 0, "p/ctx"))
	w.ok(slot.Place(w.tree("ctx/deep/ws", false), 0, "p/ctx/deep/ws"))
	w.ok(slot.Place(w.tree("ctx/notes", true), 1, "single/file"))

	if !w.pin("ctx/deep/ws").same(view(t, slot, 0, "p/ctx/deep/ws")) || !w.pin("ctx/notes").same(view(t, slot, 1, "single/file")) {
		t.Error("a place shows something else than what was pinned")
	}
	w.ok(os.WriteFile(view(t, slot, 0, "p/ctx/deep/ws/new"), nil, 0o600))
	for _, rel := range []string{"p/ctx/new", "p/ctx/deep/new", "p/ctx/deep/ws/../new"} {
		if err := os.WriteFile(view(t, slot, 0, rel), nil, 0o600); !errors.Is(err, unix.EROFS) {
			t.Errorf("writing %s in the context: %v", rel, err)
		}
	}
	if err := os.WriteFile(view(t, slot, 1, "single/file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing the file of the context: %v", err)
	}
	if points := mountsBelow(t, w.root); len(points) != 0 {
		t.Errorf("something was mounted in the user's own tree: %q", points)
	}
}

func TestPlaceOnAView(t *testing.T) {
	w := newWorld(t)
	w.dir("ws/sub", 1000)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ws", true), 0, "."))
	w.ok(slot.Place(w.tree("ws/sub", false), 0, "sub"))
	w.ok(os.WriteFile(view(t, slot, 0, "sub/new"), nil, 0o600))
	if err := slot.Place(w.tree("ws", true), 0, "."); err == nil {
		t.Error("a view was covered twice")
	}
}

// Whatever does not fit is refused, and nothing is made in a user's tree (I6).
func TestPlaceRefuses(t *testing.T) {
	w := newWorld(t)
	w.dir("ctx/ws", 0)
	w.dir("ws", 0)
	w.file("ctx/file", "", 0)
	w.file("file", "", 0)
	victim := t.TempDir()
	w.ok(os.Symlink(victim, filepath.Join(w.root, "ctx/link")))
	w.ok(unix.Mkfifo(filepath.Join(w.root, "ctx/fifo"), 0o600))
	slot := w.slot()
	w.ok(slot.Place(w.tree("ctx", false), 0, "ctx"))
	w.ok(slot.Place(w.tree("ws", false), 0, "a/b/c"))
	w.ok(slot.Place(w.tree("file", false), 0, "f"))
	before := listing(t, w.root)

	for _, tc := range []struct {
		source, rel string
		want        error
	}{
		{"ws", "ctx/missing", ErrNoPlace},
		{"ws", "ctx/missing/ws", ErrNoPlace},
		{"file", "ctx/missing", ErrNoPlace},
		{"ws", "ctx/link", ErrNoPlace},
		{"ws", "ctx/link/ws", ErrNoPlace},
		{"file", "ctx/link", ErrNoPlace},
		{"ws", "ctx/file", ErrNoPlace},
		{"file", "ctx/ws", ErrNoPlace},
		{"ws", "ctx/file/ws", ErrNoPlace},
		{"ws", "ctx/fifo", ErrNoPlace},
		{"ws", "f/ws", ErrNoPlace},
		{"file", "a", ErrNoPlace},
		{"ws", "ctx", ErrTaken},
		{"ws", "a/b/c", ErrTaken},
		{"file", "f", ErrTaken},
		{"ws", "a", ErrTaken},
		{"ws", "a/b", ErrTaken},
		{"ws", ".", ErrTaken}, // would hide what is below
		{"ws", "../x", nil},
		{"ws", "/x", nil},
		{"ws", "ctx/../x", nil},
		{"ws", "", nil},
		{"ws", "x/", nil},
	} {
		err := slot.Place(w.tree(tc.source, false), 0, tc.rel)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s at %q: %v, want %v", tc.source, tc.rel, err, tc.want)
		}
	}
	if after := listing(t, w.root); after != before {
		t.Errorf("the user's tree changed from\n%s\nto\n%s", before, after)
	}
	if got := len(mountsBelow(t, w.slots.path)); got != 4 {
		t.Errorf("%d mounts, want our own and the three that were placed", got)
	}
}

func TestPlaceTwice(t *testing.T) {
	w := newWorld(t)
	w.dir("ws", 0)
	slot, tree := w.slot(), w.tree("ws", false)
	w.ok(slot.Place(tree, 0, "one"))
	if err := slot.Place(tree, 0, "two"); err == nil {
		t.Error("one mount was placed twice")
	}
}

// What is cloned but never placed leaves nothing behind.
func TestDetachedEndsWithClose(t *testing.T) {
	w := newWorld(t)
	dir := w.dir("ws", 0)
	tree := w.tree("ws", false)
	w.ok(tree.Close())
	w.ok(unix.Rmdir(dir))
}

// listing is every name below a directory with its size, and what it is.
func listing(t *testing.T, root string) string {
	t.Helper()
	var list string
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			list += path + " " + info.Mode().String() + "\n"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
