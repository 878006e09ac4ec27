package docker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"torno/sandbox/docker"
	"torno/test/attack"
	"torno/test/weak"
)

// build compiles a program of testdata into the workspace, statically.
func (f *field) build(what string, env ...string) {
	f.Helper()
	file := filepath.Join(f.base, "workspace", what)
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, "./testdata/"+what)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("build %s: %v\n%s", what, err, out)
	}
}

// TestForeignArchitectureIsKilled: the same processor's 32-bit system calls are none that the filter has looked at.
func TestForeignArchitectureIsKilled(t *testing.T) {
	f := newField(t, docker.MountAuto)
	f.build("alive", "GOARCH=386")
	here, err := exec.Command(filepath.Join(f.base, "workspace", "alive")).Output()
	var broken *exec.ExitError
	if err != nil && !errors.As(err, &broken) {
		t.Skipf("this kernel runs no 32-bit programs: %v", err)
	}
	w := weak.New(t, f.base)
	if text, code := w.Run(w.Unwalled(), "/workspace/alive"); text != "alive\n" || code != 0 {
		t.Fatalf("the probe is dead: %q and exit %d outside, %q here", text, code, here)
	}
	const killedBySIGSYS = 128 + 31
	trial := attack.Trial{Row: "C22", Where: "docker", Tried: 1, Held: 1, Oracle: true}
	if e := f.run(f.spec("/workspace/alive")); e.exit.Code != killedBySIGSYS || len(e.stdout) > 0 {
		t.Errorf("exit %d, stdout %q", e.exit.Code, e.stdout)
		trial.Held = 0
	}
	attack.Record(t, trial)
}
