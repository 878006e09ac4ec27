package inode

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/disk"
	"torno/test/missing"
)

func look(t *testing.T, dir string) Directory {
	t.Helper()
	opened, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	found, err := Of(opened)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestADirectoryIsItself: by another name, after a move and through a bind mount. What is mounted over it, or lies in its old
// place, is another directory.
func TestADirectoryIsItself(t *testing.T) {
	around := t.TempDir()
	path, moved := filepath.Join(around, "box"), filepath.Join(around, "moved")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	was := look(t, path)
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if !was.Same(look(t, moved)) || was.Same(look(t, path)) {
		t.Errorf("%v was moved to %v, and %v lies in its place", was, look(t, moved), look(t, path))
	}
	if os.Geteuid() != 0 {
		t.Log("NOT SHOWN HERE: only root may mount")
		return
	}
	if err := unix.Mount(moved, path, "", unix.MS_BIND, ""); err != nil {
		missing.Skip(t, "nothing can be mounted here:", err)
	}
	t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
	if !was.Same(look(t, path)) {
		t.Errorf("%v became %v by a bind mount", was, look(t, path))
	}
	if err := unix.Mount("torno-test", moved, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(moved, unix.MNT_DETACH) })
	if was.Same(look(t, moved)) {
		t.Errorf("a file system that is mounted over %v is taken for it: %v", was, look(t, moved))
	}
}

// TestANumberThatLasts: a directory is itself when the machine finds its disk under another device number. Two tmpfs are
// told apart.
func TestANumberThatLasts(t *testing.T) {
	for mkfs, size := range map[string]int64{"mkfs.ext4": 8 << 20, "mkfs.xfs": 320 << 20} {
		dir := disk.New(t, size, mkfs, "-q")
		was, device := look(t, dir), deviceOf(t, dir)
		plug := disk.Unplug(t, dir)
		away := look(t, dir)
		plug()
		if now := look(t, dir); deviceOf(t, dir) == device || !now.Same(was) || away.OnFileSystemOf(was) {
			t.Errorf("%s: %v became %v on device %d, as %d before; without it there is %v", mkfs, was, now, deviceOf(t, dir), device, away)
		}
	}
	one, other := newTmpfs(t), newTmpfs(t)
	if one, other := look(t, one), look(t, other); one.Same(other) || one.OnFileSystemOf(other) || one.Boot == 0 || one.IsGone(other) {
		t.Errorf("two tmpfs are %v and %v", one, other)
	}
}

func newTmpfs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("torno-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		missing.Skip(t, "nothing can be mounted here:", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func deviceOf(t *testing.T, dir string) uint64 {
	t.Helper()
	var info unix.Stat_t
	if err := unix.Stat(dir, &info); err != nil {
		t.Fatal(err)
	}
	return info.Dev
}

func TestABirthDecidesWhereBothSawOne(t *testing.T) {
	d := Directory{FileSystem: 1, Inode: 2, Birth: 3}
	for other, want := range map[Directory]bool{
		d: true, {FileSystem: 1, Inode: 2}: true, {FileSystem: 1, Inode: 2, Birth: 4}: false,
		{FileSystem: 2, Inode: 2, Birth: 3}: false, {FileSystem: 1, Inode: 3, Birth: 3}: false, {}: false,
	} {
		if d.Same(other) != want || other.Same(d) != want {
			t.Errorf("%v and %v", d, other)
		}
	}
	if (Directory{}).Same(Directory{}) {
		t.Error("no directory is the same as none")
	}
}
