package house

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a small file system of a test's own.
type Disk struct {
	testing.TB
	Dir string
}

// NewDisk mounts one, which goes with the test. Where nothing can be mounted the test is skipped loudly.
func NewDisk(t testing.TB, size string) Disk {
	t.Helper()
	d := Disk{t, filepath.Join(t.TempDir(), "disk")}
	if err := os.Mkdir(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("torno-test", d.Dir, "tmpfs", 0, "mode=755,size="+size); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("a small disk needs root:", err)
		}
		t.Skip("NOT SHOWN HERE: a small disk needs root:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.Dir, 0); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Remount changes its flags.
func (d Disk) Remount(flags uintptr) {
	d.Helper()
	mount := func() error { return unix.Mount("", d.Dir, "", unix.MS_REMOUNT|flags, "") }
	err := mount()
	// It is busy while a file is open for writing on it, and the watcher writes now and then.
	for end := time.Now().Add(10 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		err = mount()
	}
	if err != nil {
		d.Fatal(err)
	}
}

// Fill fills it to the last byte, and returns what frees it again.
func (d Disk) Fill() (free func()) {
	d.Helper()
	return Fill(d, d.Dir)
}

// Fill fills the file system of a directory, which is a small one.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	filler, err := os.CreateTemp(dir, "filler")
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	if _, err := io.Copy(filler, zeros{}); !errors.Is(err, unix.ENOSPC) {
		t.Fatal("the disk does not fill up:", err)
	}
	return func() {
		if err := os.Remove(filler.Name()); err != nil {
			t.Error(err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
