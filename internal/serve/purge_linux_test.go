package serve

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNothingBehindAMountIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b")
	if err := os.MkdirAll(filepath.Join(dir, "slots", "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	theirs := t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "slots", "1")
	if err := unix.Mount(theirs, at, "", unix.MS_BIND, ""); err != nil {
		t.Skip("NOT SHOWN HERE: nothing can be mounted:", err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
	if err := removeTree(dir); err == nil {
		t.Error("it was removed")
	}
	if _, err := os.Stat(filepath.Join(theirs, "file")); err != nil {
		t.Error("what is behind the mount is gone:", err)
	}
	if err := unix.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there")
	}
	if err := removeTree(dir); err != nil {
		t.Error("what is gone is no trouble:", err)
	}
}
