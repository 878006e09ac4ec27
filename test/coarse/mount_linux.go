package coarse

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// size is that of the file system, with room for a journal.
const size = 64 << 20

// TempDir makes all temporary directories of a test lie on such a file system: ext4, whose inodes are too small for finer
// times. Only root can mount it.
func TempDir(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: only root can mount a file system")
	}
	beside, err := os.MkdirTemp("", "coarse") // t.TempDir would choose a place for all that come after
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(beside)) })
	image, dir := filepath.Join(beside, "image"), filepath.Join(beside, "mounted")
	must(t, os.Mkdir(dir, 0o755))
	file, err := os.Create(image)
	must(t, err)
	must(t, file.Truncate(size))
	must(t, file.Close())
	run(t, "mkfs.ext4", "-q", "-F", "-I", "128", "-O", "^has_journal", image)
	run(t, "mount", "-o", "loop", image, dir)
	t.Cleanup(func() { run(t, "umount", dir) })
	t.Setenv("TMPDIR", dir)
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
