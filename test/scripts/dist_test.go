package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestADistThatIsInterruptedLeavesWhatWasThere, so that the next one is not told that the directory is somebody else's.
func TestADistThatIsInterruptedLeavesWhatWasThere(t *testing.T) {
	for name, files := range map[string][]string{"a first one": nil, "a later one": {"SHA256SUMS", "torno.deb"}} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			for _, file := range files {
				if err := os.WriteFile(filepath.Join(to, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			dist := exec.Command("../../scripts/dist", to)
			dist.Env = append(os.Environ(), "GO=false", "TMPDIR="+t.TempDir())
			if said, err := dist.CombinedOutput(); err == nil {
				t.Fatalf("it was to fail, and said %s", said)
			}
			left, err := os.ReadDir(to)
			if err != nil || len(left) != len(files) {
				t.Errorf("it left %v of %v, %v", left, files, err)
			}
		})
	}
}
