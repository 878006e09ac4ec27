package gvisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/doctor"
	"torno/internal/runsc"
	"torno/internal/trust"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/groups"
)

// Reach checks quickly whether sandboxes may be possible here. It makes nothing.
func Reach(o Options) error {
	if _, err := runsc.Find(o.Runsc); err != nil {
		return err
	}
	return mayUnshare()
}

// mayUnshare returns an error if gVisor cannot get the user namespace in which it isolates itself.
func mayUnshare() error {
	most, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	if err == nil && strings.TrimSpace(string(most)) == "0" {
		return errors.New("gVisor needs user namespaces, and user.max_user_namespaces is 0: set it to some thousands with sysctl")
	}
	allowed, err := os.ReadFile("/proc/sys/kernel/unprivileged_userns_clone")
	if err == nil && strings.TrimSpace(string(allowed)) == "0" && os.Geteuid() != 0 {
		return errors.New("gVisor needs user namespaces, and kernel.unprivileged_userns_clone is 0: " +
			"set it to 1 with sysctl, or run the watcher as root")
	}
	return nil
}

// noExec is the flag of statfs(2) for a file system that does not execute programs.
const noExec = 0x8

// mayExecute returns an error if programs in a directory cannot be executed. sandbox-init and the programs of images
// lie in the state directory.
func mayExecute(dir string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("look at the launcher's directory: %w", &os.PathError{Op: "statfs", Path: dir, Err: err})
	}
	if fs.Flags&noExec != 0 {
		return fmt.Errorf("the programs of sandboxes would lie in %s, whose file system is mounted noexec: "+
			"have the state directory elsewhere (--state, or state in the configuration)", dir)
	}
	return nil
}

// About describes the program for the doctor.
func About(ctx context.Context, o Options) (doctor.Launcher, error) {
	program, err := runsc.Find(o.Runsc)
	if err != nil {
		return doctor.Launcher{}, err
	}
	version, err := program.Version(ctx)
	if err != nil {
		return doctor.Launcher{}, err
	}
	about := doctor.Launcher{
		Name: Name, Socket: program.Path, Version: version.Text, Machine: machine(), Arch: runtime.GOARCH, Runtime: "runsc",
		Seccomp: true, BoundedLogs: true,
	}
	if warning := version.Warning(); warning != "" {
		about.Warnings = append(about.Warnings, warning)
	}
	if g := groups.Find(""); g.Err() == nil {
		about.Cgroups, about.SwapLimit = fmt.Sprint(g.Version()), g.Swap()
	}
	return about, nil
}

func machine() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return runtime.GOARCH
	}
	return unix.ByteSliceToString(name.Machine[:])
}

// Left returns the installations whose sandboxes have control groups on this machine. It knows the state directory of
// an installation only if a keeper of one of its sandboxes lives, because the keeper's argument names its box.
func Left() (all []doctor.Leftover, err error) {
	sandboxes, err := groups.Left()
	if err != nil {
		return nil, err
	}
	kept, err := command.Kept()
	states := map[string]string{} // by sandbox
	for _, box := range kept {
		state, is := strings.CutSuffix(filepath.Dir(box), "/gvisor/boxes") // STATE/gvisor/boxes/SANDBOX
		if !is || trust.Places().Check(box) != nil {
			continue // another user can fake the arguments, but cannot make a box in a place that trust accepts
		}
		states[filepath.Base(box)] = state
	}
	for _, id := range slices.Sorted(maps.Keys(sandboxes)) {
		left := doctor.Leftover{
			Installation: id, Containers: len(sandboxes[id]),
			Removal: "remove the control groups below " + groups.Parent + "/" + id + ", which have no processes",
		}
		for _, sandbox := range sandboxes[id] {
			left.State = cmp.Or(left.State, states[sandbox.ID])
			if sandbox.Lives {
				left.Running++
				left.Removal = "kill the processes of the control groups below " + groups.Parent + "/" + id + ", and remove these groups"
			}
		}
		all = append(all, left)
	}
	return all, err
}
