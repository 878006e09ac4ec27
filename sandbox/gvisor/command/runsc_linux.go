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

// Runsc is the program together with the launcher's directory. It keeps its state there, beside the boxes.
type Runsc struct{ Program, Home string }

// stateFlag makes runsc keep its state beside the boxes. The path is relative to a box, because paths of sockets have
// to be short.
const stateFlag = "--root=../../runsc"

func (r Runsc) state() string { return filepath.Join(r.Home, "runsc") }

// Run returns the command that starts a sandbox with this number of doors. It makes no network and no control group,
// opens the host's files only when the sandbox asks for them, and leaves no file behind in a root.
func (r Runsc) Run(id sandbox.SandboxID, box string, doors int) []string {
	argv := []string{
		r.Program, stateFlag, "--platform=systrap", "--network=none", "--ignore-cgroups", "--overlay2=none",
		"--directfs=false", "--host-uds=none", "--host-fifo=none", "--file-access-mounts=shared",
		"--host-settings=ignore", // the search for faster settings takes 2 ms; without a required setting runsc fails anyway
		"--log=" + runtimeLog, "--panic-log=" + panicLog,
		"run", "--detach", "--pid-file=" + keeper.PidName, "--bundle=" + box,
	}
	for i := range doors {
		argv = append(argv, fmt.Sprintf("--pass-fd=%d:%[1]d", runfile.FirstDoor+i))
	}
	return append(argv, string(id))
}

// Trouble returns the files in a box that the runtime writes to when something goes wrong.
func Trouble() []string { return []string{panicLog, runtimeLog} }

const (
	runtimeLog = "runsc.log"
	panicLog   = "panic.log"
)

// signalTime bounds one execution of runsc.
const signalTime = 20 * time.Second

// Signal makes runsc send a signal to init.
func (r Runsc) Signal(ctx context.Context, id, box string, s sandbox.Signal) error {
	if s != sandbox.Interrupt && s != sandbox.Terminate {
		return fmt.Errorf("a sandbox cannot get signal %q", s)
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

// Forget removes runsc's notes about a sandbox. Executing runsc for this would take too long.
func (r Runsc) Forget(id string) error {
	files, err := filepath.Glob(filepath.Join(r.state(), "*"+id+"*"))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// DropNamespace removes the network namespace that runsc mounts into its state once for all sandboxes; it has no
// interface. It may be gone already.
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
