package coarse

import (
	"testing"

	"torno/test/disk"
)

// size is that of the file system, with room for a journal.
const size = 64 << 20

// TempDir makes all temporary directories of a test lie on such a file system: ext4, whose inodes are too small for finer
// times. Only root can mount it.
func TempDir(t testing.TB) {
	t.Helper()
	t.Setenv("TMPDIR", disk.New(t, size, "mkfs.ext4", "-q", "-F", "-I", "128", "-O", "^has_journal"))
}
