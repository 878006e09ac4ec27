package verdict

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs names a directory with programs that were built before, for tests that can build none. The directory home in it is
// theirs.
const Programs = "TORNO_TEST_PROGRAMS"

// SetUID is a prober that is root's and set-user-id, for a test that runs as an ordinary user, which can move it; "" without
// Programs.
func SetUID() string {
	if dir := os.Getenv(Programs); dir != "" {
		return filepath.Join(dir, "home", "set-uid")
	}
	return ""
}

// Build compiles the prober for a sandbox into a directory of the test's, and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(Programs); dir != "" {
		return filepath.Join(dir, "prober")
	}
	file := filepath.Join(t.TempDir(), "prober")
	build := exec.Command("go", "build", "-trimpath", "-o", file, "torno/test/prober")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the prober cannot be built: %v\n%s", err, out)
	}
	return file
}
