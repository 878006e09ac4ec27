package planted

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sources returns the top directory of Torno's sources.
func sources(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// TestEachDefectStands: the text that a defect changes stands in its file, once.
func TestEachDefectStands(t *testing.T) {
	for _, d := range defects {
		text, err := os.ReadFile(filepath.Join(sources(t), d.File))
		if n := strings.Count(string(text), d.Old); err != nil || n != 1 {
			t.Errorf("%s: %q stands %d times in %s (%v): correct test/planted/defects_test.go", d.What, d.Old, n, d.File, err)
		}
	}
}

// TestEachDefectIsFound takes minutes: for each defect it compiles a package and runs the test that must find the defect.
func TestEachDefectIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: each defect is compiled")
	}
	top := sources(t)
	for _, d := range defects {
		t.Run(d.Package, func(t *testing.T) {
			file := filepath.Join(top, d.File)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed, overlay := filepath.Join(t.TempDir(), "changed.go"), filepath.Join(t.TempDir(), "overlay.json")
			list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{changed: []byte(strings.Replace(string(text), d.Old, d.New, 1)), overlay: list} {
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			test := exec.CommandContext(t.Context(), filepath.Join(top, "scripts/gotest"), "-vet=off", "-count=1", "-timeout=5m", "-run=^"+d.Test+"$", d.Package)
			test.Dir, test.Env = top, append(os.Environ(), "GOFLAGS=-overlay="+overlay) // also for programs that the tests build
			said, err := test.CombinedOutput()
			if err == nil || !strings.Contains(string(said), "--- FAIL: "+d.Test+" (") {
				t.Fatalf("%s: %s of %s does not find it: %v\n%s", d.What, d.Test, d.Package, err, said)
			}
			t.Logf("%s: found by %s", d.What, d.Test)
		})
	}
}
