package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCloneHasItsAttributes(t *testing.T) {
	w := newWorld(t)
	w.dir("ws", 1000)
	for _, readOnly := range []bool{true, false} {
		tree := w.tree("ws", readOnly)
		var fs unix.Statfs_t
		w.ok(unix.Fstatfs(int(tree.file.Fd()), &fs))
		want := int64(unix.ST_NOSUID | unix.ST_NODEV)
		if readOnly {
			want |= unix.ST_RDONLY
		}
		if got := int64(fs.Flags) & (unix.ST_NOSUID | unix.ST_NODEV | unix.ST_RDONLY); got != want {
			t.Errorf("read-only %v: the mount has flags %#x, want %#x", readOnly, got, want)
		}
		err := unix.Mkdirat(int(tree.file.Fd()), "made", 0o755)
		if readOnly != errors.Is(err, unix.EROFS) || !readOnly && err != nil {
			t.Errorf("read-only %v: writing gives %v", readOnly, err)
		}
	}
}

// The source lies in a shared mount, as everything does under systemd: what is mounted below it must not come along,
// neither what is there nor what comes later.
func TestCloneCarriesNoSubmount(t *testing.T) {
	w := newWorld(t)
	shared := t.TempDir()
	tmpfs(t, shared)
	w.ok(unix.Mount("", shared, "", unix.MS_SHARED, ""))
	for _, dir := range []string{"early", "late"} {
		w.ok(os.MkdirAll(filepath.Join(shared, "ws", dir), 0o755))
	}
	w.ok(unix.Mount(w.root, filepath.Join(shared, "ws/early"), "", unix.MS_BIND, ""))
	w.file("secret", "", 0)
	w.ok(w.bases.Close())
	var err error
	w.bases, err = OpenBases([]string{shared})
	w.ok(err)
	w.root = shared

	slot := w.slot()
	w.ok(slot.Place(w.tree("ws", false), 0, "ws"))
	w.ok(unix.Mount(filepath.Join(shared, "ws/early"), filepath.Join(shared, "ws/late"), "", unix.MS_BIND, ""))
	for _, dir := range []string{"early", "late"} {
		if _, err := os.Stat(filepath.Join(shared, "ws", dir, "secret")); err != nil {
			t.Fatalf("the submount %s is not there to be carried: %v", dir, err)
		}
		if _, err := os.Stat(view(t, slot, 0, "ws/"+dir+"/secret")); !errors.Is(err, unix.ENOENT) {
			t.Errorf("the submount %s is seen through the clone: %v", dir, err)
		}
	}
	w.ok(slot.Free())
	if left := mountsBelow(t, filepath.Join(shared, "ws")); len(left) != 2 {
		t.Errorf("the user's own mounts are %q after the release", left)
	}
}

func TestCloneOfWhatIsMountedWithExchangedIDs(t *testing.T) {
	w := newWorld(t)
	w.dir("ws", 1000)
	slot := w.slot()
	w.ok(slot.Place(w.tree("ws", false), 0, "ws"))
	path := view(t, slot, 0, "ws")
	bases, err := OpenBases([]string{path})
	w.ok(err)
	defer bases.Close()
	if err := bases.TryIDMap(path, w.maps); err == nil {
		t.Error("ids that are exchanged already were exchanged again")
	}
}
