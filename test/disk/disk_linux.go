// Package disk mounts file systems for tests whose subject is a property of one: how fine its times are, whether its files can be cloned.
// Each lies in an image, beside which nothing of the machine is touched, and goes with its test.
//
//	dir := disk.New(t, 320<<20, "mkfs.xfs", "-q")
package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
	image, dir := filepath.Join(beside, "image"), filepath.Join(beside, "mounted")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, size))
	run(t, program, append(options, image)...)
	run(t, "mount", "-o", "loop", image, dir)
	t.Cleanup(func() { run(t, "umount", dir) })
	return dir
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
