package gvisor

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestAStrangerThatCallsItselfTheRuntime is left alone, and does not keep a sandbox from being gone.
func TestAStrangerThatCallsItselfTheRuntime(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: only root can be two users")
	}
	const box = "/var/lib/torno/boxes/of-nobody"
	stranger := exec.Command("/bin/sh", "-c", "read word", box)
	stranger.Args[0] = "runsc-sandbox"
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	input, err := stranger.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	if !isRuntime(stranger.Process.Pid, box) {
		t.Error("the stranger does not look like the runtime: nothing was tried")
	}
	if err := killAll(t.Context(), box, isRuntime); err != nil {
		t.Error(err)
	}
	input.Close()
	if state, err := stranger.Process.Wait(); err != nil || state.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("it was killed: %v, %v", state, err)
	}
}
