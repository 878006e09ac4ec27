package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"torno/test/missing"
)

// TestAStrangerThatCallsItselfTheRuntime is left alone, and does not keep a sandbox from being gone.
func TestAStrangerThatCallsItselfTheRuntime(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can be two users")
	}
	const box = "/var/lib/torno/boxes/of-nobody"
	stranger := exec.Command("/bin/sh", "-c", "read word", "boot", "--bundle="+box, filepath.Base(box))
	stranger.Args[0] = "runsc-sandbox"
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	input, err := stranger.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	if !isRuntime(t.Context(), stranger.Process.Pid, box) {
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

// TestWhatOnlyMentionsABox is left alone, whatever it calls itself: the runtime of another box, an operator's look at a log.
func TestWhatOnlyMentionsABox(t *testing.T) {
	box := filepath.Join(t.TempDir(), "0123456789abcdef0123456789abcdef")
	id := filepath.Base(box)
	for name, c := range map[string]struct {
		args []string
		dies bool
	}{
		"the sentry":                      {[]string{"runsc-sandbox", "boot", "--bundle=" + box, id}, true},
		"the gofer as it begins":          {[]string{"runsc-gofer", "gofer", "--bundle", box, "--uid=1", id}, true},
		"runsc itself":                    {[]string{"/usr/bin/runsc", "run", "--bundle=" + box, id}, true},
		"a box whose name begins alike":   {[]string{"runsc-sandbox", "boot", "--bundle=" + box + "0", id + "0"}, false},
		"a box within it":                 {[]string{"runsc-sandbox", "boot", "--bundle=" + box + "/in", "in"}, false},
		"a log of it":                     {[]string{"runsc", "--log=" + box + "/runsc.log", "state", id}, false},
		"the bundle for another sandbox":  {[]string{"runsc", "run", "--bundle=" + box, "other"}, false},
		"another program with its bundle": {[]string{"tail", "--bundle=" + box, id}, false},
		"a bundle that is not said":       {[]string{"runsc", "run", "--bundle"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			process := exec.Command("/bin/sh", append([]string{"-c", "read word", "sh"}, c.args[1:]...)...)
			process.Args[0] = c.args[0]
			input, err := process.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			if err := Kill(t.Context(), box); err != nil {
				t.Error(err)
			}
			input.Close()
			state, err := process.Process.Wait()
			if err != nil || state.Sys().(syscall.WaitStatus).Signaled() != c.dies {
				t.Errorf("%v, %v", state, err)
			}
		})
	}
}

// TestARuntimeThatJustBegins is killed too: between the moment in which a process gets its program and the one in which it shows its
// arguments it was taken for nobody's, about once in fifty.
func TestARuntimeThatJustBegins(t *testing.T) {
	box := filepath.Join(t.TempDir(), "0123456789abcdef0123456789abcdef")
	for range 300 {
		process := exec.Command("/bin/sh", "-c", "read word", "sh", "--bundle="+box, filepath.Base(box))
		process.Args[0] = "runsc-sandbox"
		input, err := process.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		if !isRuntime(t.Context(), process.Process.Pid, box) {
			t.Error("it was not seen")
		}
		input.Close()
		_ = process.Wait() // the shell reads no word
	}
}
