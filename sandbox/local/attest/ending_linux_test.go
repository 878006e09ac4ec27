package attest

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"torno/sandbox"
)

// TestAProcessThatHasEnded: one that was killed and that its parent has not heard of tells nothing that counts.
func TestAProcessThatHasEnded(t *testing.T) {
	sleeper := exec.Command("/bin/sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.Wait() })
	p, err := Open(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	different := &sandbox.DifferenceError{}
	if err := OrEnded(different, p); p.HasEnded() || !errors.Is(err, different) {
		t.Errorf("while it lives: %v", err)
	}
	if err := sleeper.Process.Kill(); err != nil { // from now on it is dying, and then dead: nothing waits for it yet
		t.Fatal(err)
	}
	if err := OrEnded(different, p); !p.HasEnded() || !errors.Is(err, sandbox.ErrNotHeld) || errors.Is(err, different) {
		t.Errorf("when it was killed: %v", err)
	}
	var look Look
	if err := p.CheckRights(&look, "it", Rights{}); !errors.Is(err, sandbox.ErrNotHeld) {
		t.Errorf("its rights: %v", err)
	}
	if err := OrEnded(nil, p); err != nil {
		t.Errorf("nothing was wrong: %v", err)
	}
}

// TestWhatDyingLooksLike, in words of the kernel.
func TestWhatDyingLooksLike(t *testing.T) {
	for state, want := range map[string]bool{"S (sleeping)": false, "T (stopped)": false, "Z (zombie)": true, "X (dead)": true} {
		if got := isDying(status("\nState:\t" + state + "\nShdPnd:\t0000000000000000\n")); got != want {
			t.Errorf("%s: %t", state, got)
		}
	}
	for pending, want := range map[string]bool{"0000000000004000": false, "0000000000000100": true} { // SIGTERM, and SIGKILL
		if got := isDying(status("\nName:\tState:Z\nState:\tR (running)\nShdPnd:\t" + pending + "\n")); got != want {
			t.Errorf("%s: %t", syscall.SIGKILL, got)
		}
	}
}
