package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// child is the identity of the sandbox in these tests: no machine has such a user.
var child = Identity{UID: 2000000001, GID: 2000000001}

func TestMain(m *testing.M) {
	if dir := os.Getenv("TORNO_TEST_HOLD_SLOT"); dir != "" {
		fmt.Println(holdSlot(dir))
		os.Stdin.Read(make([]byte, 1)) // until we are killed
		return
	}
	os.Exit(m.Run())
}

// unproved ends a test that cannot run here. In CI that is a failure.
func unproved(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("cannot be proved here: %s", why)
	}
	t.Skipf("NOT PROVED HERE: %s", why)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		unproved(t, "only root may mount; run the tests of internal/mounts as root")
	}
}

// world is a root of the operator's with what is needed to mount from it.
type world struct {
	t     testing.TB
	root  string
	bases *Bases
	maps  *IDMaps
	slots *Slots
}

func newWorld(t testing.TB) *world {
	t.Helper()
	needRoot(t)
	w := &world{t: t, root: t.TempDir(), maps: NewIDMaps()}
	var err error
	w.bases, err = OpenBases([]string{w.root})
	w.ok(err)
	w.slots, err = OpenSlots(slotsDir(t, "slots"), 4, true)
	w.ok(err)
	t.Cleanup(w.close)
	return w
}

// close gives back every slot, so that a test that failed leaves no mount either.
func (w *world) close() {
	for _, slot := range w.inUse() {
		w.ok(slot.Free())
	}
	w.ok(w.slots.Sweep(nil))
	w.ok(w.slots.Close())
	w.ok(w.bases.Close())
	w.ok(w.maps.Close())
	if point := mountsBelow(w.t, w.slots.path); len(point) > 0 {
		w.t.Errorf("mounts are left: %q", point)
	}
}

func (w *world) inUse() []*Slot {
	w.slots.mu.Lock()
	defer w.slots.mu.Unlock()
	var slots []*Slot
	for _, slot := range w.slots.used {
		slots = append(slots, slot)
	}
	return slots
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// dir makes a directory below the root, with an owner; file makes a file.
func (w *world) dir(rel string, owner uint32) string {
	w.t.Helper()
	path := filepath.Join(w.root, rel)
	w.ok(os.MkdirAll(path, 0o755))
	w.ok(unix.Chown(path, int(owner), int(owner)))
	return path
}

func (w *world) file(rel, content string, owner uint32) string {
	w.t.Helper()
	path := filepath.Join(w.root, rel)
	w.ok(os.WriteFile(path, []byte(content), 0o644))
	w.ok(unix.Chown(path, int(owner), int(owner)))
	return path
}

func (w *world) source(rel string) sandbox.Source { return sandbox.Source{Base: w.root, Rel: rel} }

func (w *world) pin(rel string) *Pin {
	w.t.Helper()
	pin, err := w.bases.Pin(w.source(rel))
	w.ok(err)
	w.t.Cleanup(func() { pin.Close() })
	return pin
}

// tree clones a source, writable or not, with its owner and the child exchanged.
func (w *world) tree(rel string, readOnly bool) *Detached {
	w.t.Helper()
	pin := w.pin(rel)
	ids, err := w.maps.Get(pin.Owner(), child)
	w.ok(err)
	defer ids.Close()
	tree, err := pin.Clone(CloneOptions{ReadOnly: readOnly, IDMap: ids})
	w.ok(err)
	w.t.Cleanup(func() { tree.Close() })
	return tree
}

// mount goes the whole way, from a source to a place in view 0, and keeps no handle.
func (w *world) mount(slot *Slot, source, rel string, readOnly bool) error {
	pin, err := w.bases.Pin(w.source(source))
	if err != nil {
		return err
	}
	defer pin.Close()
	ids, err := w.maps.Get(pin.Owner(), child)
	if err != nil {
		return err
	}
	defer ids.Close()
	tree, err := pin.Clone(CloneOptions{ReadOnly: readOnly, IDMap: ids})
	if err != nil {
		return err
	}
	defer tree.Close()
	return slot.Place(tree, 0, rel)
}

func (w *world) slot() *Slot {
	w.t.Helper()
	slot, err := w.slots.Acquire()
	w.ok(err)
	return slot
}

// view is the path of a place in a view of the slot.
func view(t testing.TB, slot *Slot, i int, rel string) string {
	t.Helper()
	dir, err := slot.ViewDir(i)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, rel)
}

// mountsBelow are the mount points at path and below it.
func mountsBelow(t testing.TB, path string) []string {
	t.Helper()
	infos, err := readMountInfo()
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for _, info := range infos {
		if info.point == path || strings.HasPrefix(info.point, path+"/") {
			points = append(points, info.point)
		}
	}
	return points
}

// slotsDir is a directory for slots, from which every mount is gone when the test ends, however it ends.
func slotsDir(t testing.TB, name string) string {
	dir := filepath.Join(t.TempDir(), name)
	t.Cleanup(func() {
		for len(mountsBelow(t, dir)) > 0 && unix.Unmount(dir, unix.MNT_DETACH) == nil {
		}
	})
	return dir
}

// tmpfs mounts an empty file system at path until the test ends.
func tmpfs(t testing.TB, path string) {
	t.Helper()
	if err := unix.Mount("torno-test", path, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
}

// onThread runs f on a thread of its own, that is thrown away: what f changes about its rights ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// asUser runs f with the file system identity of id.
func asUser(id Identity, f func() error) error {
	return onThread(func() error {
		if _, err := unix.SetfsgidRetGid(int(id.GID)); err != nil {
			return err
		}
		if _, err := unix.SetfsuidRetUid(int(id.UID)); err != nil {
			return err
		}
		return f()
	})
}

// owner is the user that a path belongs to.
func owner(t testing.TB, path string) Identity {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return Identity{UID: st.Uid, GID: st.Gid}
}

// same says whether a path leads to the pinned thing.
func (p *Pin) same(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Dev == p.Dev && st.Ino == p.Ino
}

func wantKind(t testing.TB, err error, kind Kind) {
	t.Helper()
	var path *PathError
	if !errors.As(err, &path) || path.Kind != kind {
		t.Errorf("got %v, want a PathError of kind %q", err, kind)
	}
}
