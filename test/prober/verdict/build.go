package verdict

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build compiles the prober for a sandbox into a directory of the test's, and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prober")
	build := exec.Command("go", "build", "-trimpath", "-o", file, "torno/test/prober")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the prober cannot be built: %v\n%s", err, out)
	}
	return file
}
