package local

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"torno/test/missing"
)

// TestATrialTakesItsDirectoryBack: a trial by path gives its workspace to another user. The next trial, by handle, has it again:
// otherwise one trial by path would keep all later watchers of a state directory from mounts by handle.
func TestATrialTakesItsDirectoryBack(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root gives a directory away")
	}
	dir := filepath.Join(t.TempDir(), TrialName)
	for _, owner := range []uint32{0, 2_000_000_000, 0} {
		if err := (Trial{Dir: dir, Owner: owner}).layOut(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Sys().(*syscall.Stat_t).Uid; is != owner {
			t.Errorf("the workspace of a trial for user %d belongs to user %d", owner, is)
		}
	}
}
