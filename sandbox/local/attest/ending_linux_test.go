package attest

import (
	"errors"
	"maps"
	"os"
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

// TestAProcessThatExitsByItself starts a process that takes memory and exits. While the kernel takes the memory back, the process is no zombie
// yet, but version 1 of control groups lists it in no group. Whenever its groups change, HasEnded must report its end.
func TestAProcessThatExitsByItself(t *testing.T) {
	self, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	ours, err := self.Groups()
	if err != nil || self.HasEnded() {
		t.Fatalf("the test itself: ended %t, %v", self.HasEnded(), err)
	}
	for range 20 {
		large := exec.Command("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=16M", "count=1")
		if err := large.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := Open(large.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		for ended := false; !ended; { // it stays a zombie until the test waits for it
			groups, err := p.Groups()
			if ended = p.HasEnded(); !ended && (err != nil || !maps.Equal(groups, ours)) {
				t.Errorf("it has not ended, and its groups are %v (%v); they were %v", groups, err, ours)
				ended = true
			}
		}
		p.Close()
		_ = large.Wait()
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
	for stat, want := range map[string]bool{
		"7 (a) 1 4) R 1 7 7 0 -1 4194560 91 0": false, "7 (a) 1 4) R 1 7 7 0 -1 4194564 91 0": true, "7 (a": false, "": false,
	} {
		if got := isExiting([]byte(stat)); got != want {
			t.Errorf("%q: %t", stat, got)
		}
	}
}
