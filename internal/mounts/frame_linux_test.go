package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// framed is a slot whose first view is a frame with a context and, nested in that, a workspace.
func framed(t *testing.T) (w *world, slot *Slot, context, work Placed) {
	t.Helper()
	w = newWorld(t)
	w.dir("ctx/way/ws", 1000)
	slot = w.slot()
	w.ok(slot.Frame(0))
	w.ok(slot.Place(w.tree("ctx", true), 0, "p/ctx"))
	w.ok(slot.Place(w.tree("ctx/way/ws", false), 0, "p/ctx/way/ws"))
	w.ok(slot.Seal(0))
	number := func(name string) Placed {
		var st unix.Stat_t
		w.ok(unix.Stat(filepath.Join(w.root, name), &st))
		return Placed{Dev: st.Dev, Ino: st.Ino}
	}
	context, work = number("ctx"), number("ctx/way/ws")
	work.Writable = true
	return w, slot, context, work
}

// TestFrame: nothing can be written to a sealed frame, and a mount in it keeps its own mode. Clear takes it away.
func TestFrame(t *testing.T) {
	w, slot, context, work := framed(t)
	w.ok(errors.Join(slot.ProveSealed(0), slot.Prove(0, "p/ctx", context), slot.Prove(0, "p/ctx/way/ws", work)))
	for name, want := range map[string]error{"new": unix.EROFS, "p/new": unix.EROFS, "p/ctx/new": unix.EROFS, "p/ctx/way/ws/new": nil} {
		if err := os.Mkdir(view(t, slot, 0, name), 0o700); !errors.Is(err, want) {
			t.Errorf("make %s: %v, want %v", name, err, want)
		}
	}
	w.ok(slot.Clear())
	if points := mountsBelow(t, slot.Path()); len(points) != 0 {
		t.Errorf("still mounted: %q", points)
	}
	w.ok(errors.Join(slot.Frame(0), slot.Seal(0), slot.ProveSealed(0))) // as new
}

// TestProveFindsADifference tries each thing that can differ.
func TestProveFindsADifference(t *testing.T) {
	w, slot, context, work := framed(t)
	w.ok(slot.Frame(1))
	differs := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrNotPlaced) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wrong := func(change func(*Placed)) Placed {
		p := work
		change(&p)
		return p
	}
	differs("another file system", slot.Prove(0, "p/ctx/way/ws", wrong(func(p *Placed) { p.Dev++ })))
	differs("another directory", slot.Prove(0, "p/ctx/way/ws", wrong(func(p *Placed) { p.Ino++ })))
	differs("writable", slot.Prove(0, "p/ctx/way/ws", wrong(func(p *Placed) { p.Writable = false })))
	differs("read-only", slot.Prove(0, "p/ctx", Placed{Dev: context.Dev, Ino: context.Ino, Writable: true}))
	differs("nothing", slot.Prove(0, "p/none", work))
	differs("a frame that is open", slot.ProveSealed(1))
	differs("no frame", slot.ProveSealed(2))
	var way unix.Stat_t
	w.ok(unix.Stat(filepath.Join(w.root, "ctx/way"), &way))
	differs("no mount", slot.Prove(0, "p/ctx/way", Placed{Dev: way.Dev, Ino: way.Ino}))

	w.ok(errors.Join(os.Rename(filepath.Join(w.root, "ctx/way"), filepath.Join(w.root, "ctx/moved")), os.Symlink("moved", filepath.Join(w.root, "ctx/way"))))
	differs("a link on the way", slot.Prove(0, "p/ctx/way/ws", work))
	w.ok(errors.Join(os.Remove(filepath.Join(w.root, "ctx/way")), os.MkdirAll(filepath.Join(filepath.Join(w.root, "ctx/way"), "ws"), 0o755)))
	differs("another directory on the way", slot.Prove(0, "p/ctx/way/ws", work))
}
