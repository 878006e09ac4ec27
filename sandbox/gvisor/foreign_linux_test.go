package gvisor_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"torno/sandbox"
	"torno/test/attack"
	"torno/test/weak"
)

// TestForeignArchitectureIsNotRun: the same processor's 32-bit system calls are none that the filter has looked at. gVisor
// has none of them, and runs no such program.
func TestForeignArchitectureIsNotRun(t *testing.T) {
	f := newExhaust(t)
	file := filepath.Join(f.Base, "workspace", "alive")
	build := exec.Command("go", "build", "-trimpath", "-o", file, "torno/sandbox/docker/testdata/alive")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=386")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var broken *exec.ExitError
	if err := exec.Command(file).Run(); err != nil && !errors.As(err, &broken) {
		t.Skipf("this kernel runs no 32-bit programs: %v", err)
	}
	w := weak.New(t, f.Base)
	text, _ := w.Run(w.Unwalled(), "/workspace/alive")
	said, exit := f.Run(sandbox.Process{Argv: []string{"/workspace/alive"}, Dir: "/workspace"})
	const cannotExecute = 126
	trial := attack.Trial{Row: "C22", Where: "gvisor", Tried: 1, Oracle: text == "alive\n"}
	if exit.Code == cannotExecute && said == "" {
		trial.Held = 1
	} else {
		t.Errorf("exit %d, stdout %q", exit.Code, said)
	}
	attack.Record(t, trial)
}
