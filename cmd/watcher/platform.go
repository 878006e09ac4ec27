package main

import (
	"fmt"
	"os"
	"runtime"
)

// machine has the facts about its machine that a command relies on.
type machine struct {
	platform string // the operating system, as Go names it
	state    string // the state directory of the unit in contrib
	cgroups  string // the mount point of control groups
	root     bool
}

// here returns the machine of this process.
func here() machine {
	return machine{platform: runtime.GOOS, state: unitState, cgroups: "/sys/fs/cgroup", root: os.Getuid() == 0}
}

// platformError is the error that no launcher works on this operating system.
type platformError struct{ system string }

func (e *platformError) Error() string {
	return fmt.Sprintf("sandboxes are made on Linux only, and this is %s: no launcher works here", e.system)
}

// Next tells the operator where the watcher can run.
func (e *platformError) Next() string {
	return "run the watcher on Linux; on a Mac, in the virtual machine of the engine (docs/OPERATIONS.md, On a Mac)"
}

// onLinux returns an error on other systems than Linux. Commands that make or remove sandboxes call it before they
// touch anything.
func (m machine) onLinux() error {
	if m.platform == "linux" {
		return nil
	}
	return &platformError{m.platform}
}
