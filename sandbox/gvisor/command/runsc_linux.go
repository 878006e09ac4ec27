package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
)

// Runsc is the program, and where it keeps its state: beside the boxes, in the launcher's directory.
type Runsc struct{ Program, Home string }

// stateFlag has runsc keep its state beside the boxes, seen from one: paths of sockets have to be short.
const stateFlag = "--root=../../runsc"

func (r Runsc) state() string { return filepath.Join(r.Home, "runsc") }

// Run is the call that starts a sandbox with so many doors. It makes no network and no control group, gives files only as they
// are asked for, and leaves no file behind in a root.
func (r Runsc) Run(id sandbox.SandboxID, box string, doors int) []string {
	argv := []string{
		r.Program, stateFlag, "--platform=systrap", "--network=none", "--ignore-cgroups", "--overlay2=none",
		"--directfs=false", "--host-uds=none", "--host-fifo=none", "--file-access-mounts=shared",
		"--host-settings=ignore", // what could be quicker takes 2 ms to find, and what has to be fails without it
		"--log=" + runtimeLog, "--panic-log=" + panicLog,
		"run", "--detach", "--pid-file=" + keeper.PidName, "--bundle=" + box,
	}
	for i := range doors {
		argv = append(argv, fmt.Sprintf("--pass-fd=%d:%[1]d", runfile.FirstDoor+i))
	}
	return append(argv, string(id))
}

// Trouble are the files in a box into which the runtime writes when something goes wrong.
func Trouble() []string { return []string{panicLog, runtimeLog} }

const (
	runtimeLog = "runsc.log"
	panicLog   = "panic.log"
)

// signalTime bounds one execution of runsc.
const signalTime = 20 * time.Second

// Signal has runsc send a signal to init.
func (r Runsc) Signal(ctx context.Context, id, box string, s sandbox.Signal) error {
	if s != sandbox.Interrupt && s != sandbox.Terminate {
		return fmt.Errorf("signal %q is none that a sandbox gets", s)
	}
	ctx, cancel := context.WithTimeout(ctx, signalTime)
	defer cancel()
	command := exec.CommandContext(ctx, r.Program, stateFlag, "kill", id, string(s))
	command.Dir, command.Env = box, []string{}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("runsc kill: %w: %s", err, out)
	}
	return nil
}

// Forget removes what runsc has noted of a sandbox. Executing it for that would take longer than the sandbox may have.
func (r Runsc) Forget(id string) error {
	files, err := filepath.Glob(filepath.Join(r.state(), "*"+id+"*"))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// DropNamespace takes away the network namespace without an interface that runsc mounts into its state, once for all
// sandboxes. There may be none any more.
func (r Runsc) DropNamespace() error {
	place := filepath.Join(r.state(), "null-netns")
	if err := unix.Unmount(place, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", place, err)
	}
	if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
