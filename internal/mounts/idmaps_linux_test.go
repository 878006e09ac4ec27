package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// What the kernel makes of the maps: files seen through a clone.
func TestIDMapAtTheEdges(t *testing.T) {
	const last = noID - 1
	w := newWorld(t)
	for _, pair := range [][2]uint32{{0, child.UID}, {1000, child.UID}, {0, last}, {last, 0}, {5, 5}, {5, 6}, {6, 5}, {0, 1}, {last - 1, last}} {
		a, b := pair[0], pair[1]
		dir := w.dir("ws", a)
		for name, id := range map[string]uint32{"of-a": a, "of-b": b, "of-another": 4242} {
			w.file("ws/"+name, "", id)
		}
		ids, err := w.maps.Get(Identity{a, a}, Identity{b, b})
		w.ok(err)
		tree, err := w.pin("ws").Clone(CloneOptions{IDMap: ids})
		w.ok(err)
		for name, want := range map[string]uint32{".": b, "of-a": b, "of-b": a, "of-another": 4242} {
			var st unix.Stat_t
			w.ok(unix.Fstatat(int(tree.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW))
			if st.Uid != want || st.Gid != want {
				t.Errorf("exchanging %d and %d: %s belongs to %d:%d, want %d", a, b, name, st.Uid, st.Gid, want)
			}
		}
		w.ok(errors.Join(tree.Close(), ids.Close(), os.RemoveAll(dir)))
	}
}

// Users and groups are exchanged each for themselves.
func TestIDMapOfDifferentUserAndGroup(t *testing.T) {
	w := newWorld(t)
	dir := w.dir("ws", 0)
	w.ok(unix.Chown(dir, 1000, 50))
	tree := w.tree("ws", false)
	w.ok(asUser(child, func() error {
		fd, err := unix.Openat(int(tree.file.Fd()), "new", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o600)
		return errors.Join(err, unix.Close(fd))
	}))
	if got := owner(t, filepath.Join(dir, "new")); got != (Identity{1000, 50}) {
		t.Errorf("the child's file belongs to %v", got)
	}
}

func TestIDMapsAreKeptAndBounded(t *testing.T) {
	needRoot(t)
	maps := NewIDMaps()
	defer maps.Close()
	maps.max = 2
	namespace := func(f *os.File) uint64 {
		var st unix.Stat_t
		must(t, unix.Fstat(int(f.Fd()), &st))
		return st.Ino
	}
	get := func(uid uint32) *os.File {
		f, err := maps.Get(Identity{uid, uid}, child)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := get(1)
	if namespace(get(1)) != namespace(first) {
		t.Error("the same exchange made a second namespace")
	}
	get(2)
	get(3)
	if len(maps.held) != 2 || len(maps.order) != 2 {
		t.Errorf("%d namespaces are held, at most 2 should be", len(maps.held))
	}
	if namespace(first) == 0 {
		t.Error("a namespace that was given away did not outlive its place in the cache")
	}
	if namespace(get(1)) == namespace(first) {
		t.Error("the oldest namespace was not let go")
	}
}

func TestIDMapsLeaveNoProcess(t *testing.T) {
	needRoot(t)
	maps := NewIDMaps()
	defer maps.Close()
	var wg sync.WaitGroup
	for uid := range uint32(8) {
		wg.Go(func() {
			f, err := maps.Get(Identity{uid, uid}, child)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
		})
	}
	wg.Wait()
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("a process is left: %v", err)
	}
}

func TestIDMapsSayWhyNot(t *testing.T) {
	needRoot(t)
	maps := NewIDMaps()
	defer maps.Close()
	if _, err := maps.Get(Identity{noID, 0}, child); err == nil {
		t.Error("an id that is none was accepted")
	}
}

func TestTryIDMap(t *testing.T) {
	w := newWorld(t)
	w.ok(w.bases.TryIDMap(w.root, w.maps))

	proc, err := OpenBases([]string{"/proc"}) // a file system that knows no exchanged ids
	w.ok(err)
	defer proc.Close()
	if err := proc.TryIDMap("/proc", w.maps); !errors.Is(err, unix.EINVAL) || errors.Is(err, ErrRootGone) {
		t.Errorf("/proc: %v", err)
	}
}

// TestTryIDMapOfARootThatIsGone: that it is gone says nothing of its file system. A root that is back is tried.
func TestTryIDMapOfARootThatIsGone(t *testing.T) {
	w := newWorld(t)
	source, mounted, removed := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "mounted"), filepath.Join(t.TempDir(), "removed")
	for _, dir := range []string{source, mounted, removed} {
		w.ok(os.Mkdir(dir, 0o755))
	}
	bind := func() { w.ok(unix.Mount(source, mounted, "", unix.MS_BIND, "")) }
	bind()
	bases, err := OpenBases([]string{mounted, removed})
	w.ok(err)
	defer bases.Close()
	w.ok(errors.Join(os.Remove(removed), unix.Unmount(mounted, unix.MNT_DETACH)))
	for _, gone := range []string{mounted, removed} {
		if err := bases.TryIDMap(gone, w.maps); !errors.Is(err, ErrRootGone) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	bind()
	defer unix.Unmount(mounted, unix.MNT_DETACH)
	if err := bases.TryIDMap(mounted, w.maps); err != nil {
		t.Errorf("when it is mounted again: %v", err)
	}
}
