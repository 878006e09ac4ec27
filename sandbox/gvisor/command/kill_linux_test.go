package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/test/missing"
	"torno/test/wait"
)

// TestAStrangerThatCallsItselfTheRuntime is left alone, and does not keep a sandbox from being gone: another user's program, and one of
// root's that another user has started.
func TestAStrangerThatCallsItselfTheRuntime(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can be two users")
	}
	for name, mode := range map[string]os.FileMode{"of the stranger": 0o755, "of root": 0o755 | os.ModeSetuid} {
		t.Run(name, func(t *testing.T) { callsItselfTheRuntime(t, mode) })
	}
}

func callsItselfTheRuntime(t *testing.T, mode os.FileMode) {
	const box = "/var/lib/torno/boxes/of-nobody"
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || mode&os.ModeSetuid != 0 && fs.Flags&unix.ST_NOSUID != 0 {
		missing.Skip(t, dir+" takes no set-user-ID programs", err)
	}
	program, err := os.ReadFile("/proc/self/exe")
	path := filepath.Join(dir, "program")
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(path, program, 0o755), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command(path, "boot", "--bundle="+box, filepath.Base(box))
	stranger.Env = []string{waits + "=1"}
	stranger.Args[0] = "runsc-sandbox"
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	input, err := stranger.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the stranger looks like the runtime", func() bool {
		args, _ := argumentsOf(stranger.Process.Pid)
		return isRuntime(stranger.Process.Pid, args, box) && isOurs(stranger.Process.Pid) == (mode&os.ModeSetuid != 0)
	})
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
	for range 200 {
		process := exec.Command("/bin/sh", "-c", "read word", "sh", "--bundle="+box, filepath.Base(box))
		process.Args[0] = "runsc-sandbox"
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
		_ = process.Wait()
		if !process.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatal("it was not seen")
		}
	}
}

// TestProcessesThatHideTheirArguments hold a kill up for a moment, however many they are, and a kill that was given no time does not say that
// nothing is left.
func TestProcessesThatHideTheirArguments(t *testing.T) {
	box := filepath.Join(t.TempDir(), "0123456789abcdef0123456789abcdef")
	for range 3 {
		hide(t)
	}
	if err := Kill(t.Context(), box); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Kill(over, box); !errors.Is(err, context.Canceled) {
		t.Errorf("without time it says %v", err)
	}
}

// TestAnExecBetweenTwoLooks: a process that belonged to the box at the first look shows no arguments at the second one. It is looked at again.
func TestAnExecBetweenTwoLooks(t *testing.T) {
	hide(t)
	looks := 0
	belongs := func(_ int, args []string, _ string) bool {
		if args == nil {
			looks++ // as if it had been in the middle of an exec since
		}
		return args == nil && looks == 1
	}
	if err := killAll(t.Context(), "/nowhere/box", belongs); err != nil {
		t.Error(err)
	}
	if looks < 3 {
		t.Errorf("it was looked at %d times", looks)
	}
}

// hide starts this test's program, which hides its arguments, and waits until they are hidden.
func hide(t *testing.T) {
	t.Helper()
	// With so many arguments a page of their words has nothing in it of the stack.
	process := exec.Command("/proc/self/exe", slices.Repeat([]string{"x"}, 4096)...)
	process.Env = append(os.Environ(), hides+"=1")
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close(); _ = process.Wait() })
	wait.Until(t, "it hides its arguments", func() bool {
		_, shown := argumentsOf(process.Process.Pid)
		return !shown
	})
}

// hides has the test's program hide its arguments until its input ends.
const hides = "TORNO_TEST_HIDES"

// waits has the test's program wait until its input ends.
const waits = "TORNO_TEST_WAITS"

func TestMain(m *testing.M) {
	if os.Getenv(waits) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if os.Getenv(hides) == "" {
		os.Exit(m.Run())
	}
	first, last := os.Args[0], os.Args[len(os.Args)-1]
	page := uintptr(os.Getpagesize())
	from := uintptr(unsafe.Pointer(unsafe.StringData(first))) &^ (page - 1)
	to := (uintptr(unsafe.Pointer(unsafe.StringData(last))) + uintptr(len(last)) + page) &^ (page - 1)
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, from, to-from, 0); errno != 0 {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
