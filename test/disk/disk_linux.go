// Package disk mounts file systems for tests whose subject is a property of one: how fine its times are, whether its files can be cloned.
// Each lies in an image, beside which nothing of the machine is touched, and goes with its test.
//
//	dir := disk.New(t, 320<<20, "mkfs.xfs", "-q")
package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/missing"
)

// New mounts a new file system of so many bytes, which a program makes, and unmounts it with the test. Only root can mount it.
func New(t testing.TB, size int64, program string, options ...string) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can mount a file system")
	}
	if _, err := exec.LookPath(program); err != nil {
		missing.Skip(t, err)
	}
	beside, err := os.MkdirTemp("", "disk") // t.TempDir would choose a place for all that come after
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(beside)) })
	dir = filepath.Join(beside, "mounted")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(imageOf(dir), nil, 0o600))
	must(t, os.Truncate(imageOf(dir), size))
	run(t, program, append(options, imageOf(dir))...)
	mount(t, dir)
	t.Cleanup(func() { run(t, "umount", dir) })
	return dir
}

// Copy mounts a copy of a file system that New has mounted.
func Copy(t testing.TB, dir string) (copied string) {
	t.Helper()
	copied = dir + ".copy"
	must(t, os.Mkdir(copied, 0o755))
	unix.Sync()
	run(t, "cp", "--sparse=always", imageOf(dir), imageOf(copied))
	mount(t, copied)
	t.Cleanup(func() { run(t, "umount", copied) })
	return copied
}

// Unplug unmounts a file system that New has mounted. plug mounts it again, under another device number; it is called with the test's end
// where the test has not done so.
func Unplug(t testing.TB, dir string) (plug func()) {
	t.Helper()
	was := strings.TrimSpace(run(t, "findmnt", "--noheadings", "--output", "SOURCE", "--mountpoint", dir))
	run(t, "umount", dir)
	filler := imageOf(dir) + ".filler"
	must(t, os.WriteFile(filler, make([]byte, 1<<20), 0o600))
	var taken []string
	for range 64 {
		device := strings.TrimSpace(run(t, "losetup", "--find", "--show", filler))
		taken = append(taken, device)
		if device == was {
			break
		}
	}
	plug = sync.OnceFunc(func() {
		mount(t, dir)
		for _, device := range taken {
			run(t, "losetup", "--detach", device)
		}
	})
	t.Cleanup(plug)
	return plug
}

// imageOf is the image of the file system that is mounted at a directory.
func imageOf(dir string) string { return dir + ".image" }

func mount(t testing.TB, dir string) {
	t.Helper()
	run(t, "mount", "-o", "loop", imageOf(dir), dir)
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
