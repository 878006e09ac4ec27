package programs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"torno/internal/trust"
	"torno/test/attack"
)

// TestProgramsThatOthersCouldExchange: what the watcher executes, and what it puts into every sandbox as process 1, only
// root and its own user may write.
func TestProgramsThatOthersCouldExchange(t *testing.T) {
	t.Setenv("PATH", "")
	base := filepath.Join(t.TempDir(), "opt")
	bin := filepath.Join(base, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	trial := attack.Trial{Row: "H9", Where: "init and keeper", Oracle: true}
	for _, name := range []string{"sandbox-init", "sandbox-keeper"} {
		path := filepath.Join(bin, name)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		for what, loose := range map[string]struct {
			path string
			mode os.FileMode
		}{
			"the program":            {path, 0o757},
			"its directory":          {bin, 0o777},
			"its sticky directory":   {bin, os.ModeSticky | 0o777},
			"a directory above that": {base, 0o777},
		} {
			if err := os.Chmod(loose.path, loose.mode); err != nil {
				t.Fatal(err)
			}
			// The oracle: it is a program that would be run.
			trial.Oracle = trial.Oracle && program(path) == nil
			trial.Tried++
			_, err := Find(name, path)
			if _, ok := errors.AsType[*trust.Error](err); ok {
				trial.Held++
			} else {
				t.Errorf("everybody may write %s of %s: %v", what, name, err)
			}
			if err := os.Chmod(loose.path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := Find(name, path); err != nil || found == "" {
			t.Errorf("%s, which no other user may write: %q, %v", name, found, err)
		}
	}
	attack.Record(t, trial)
}
