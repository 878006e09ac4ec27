package platforms

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// goTool runs a command of Go for another platform.
func goTool(t *testing.T, platform string, args ...string) {
	t.Helper()
	system, processor, _ := strings.Cut(platform, "/")
	run := exec.Command("go", args...)
	run.Dir = root
	run.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: go %s: %v\n%s", platform, strings.Join(args, " "), err, out)
	}
}

// TestEverythingBuildsElsewhere vets all packages with their tests, and links what there is of programs.
func TestEverythingBuildsElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves the builds for other platforms out, which take minutes the first time")
	}
	for platform, programs := range map[string][]string{
		"linux/arm64":  {"model-gateway", "sandbox-init", "sandbox-keeper", "subagent", "watcher"},
		"darwin/arm64": {"model-gateway", "subagent", "watcher"},
	} {
		t.Run(platform, func(t *testing.T) {
			goTool(t, platform, "vet", "-trimpath", "./...")
			bin := t.TempDir()
			goTool(t, platform, "build", "-trimpath", "-o", bin+"/", "./cmd/...")
			entries, err := os.ReadDir(bin)
			if err != nil {
				t.Fatal(err)
			}
			var built []string
			for _, entry := range entries {
				built = append(built, entry.Name())
			}
			if !slices.Equal(built, programs) {
				t.Errorf("built are %v, want %v", built, programs)
			}
		})
	}
}
