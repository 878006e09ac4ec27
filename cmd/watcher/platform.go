package main

import (
	"fmt"
	"os"
	"runtime"
)

// machine has the facts about its machine that a command relies on.
type machine struct {
	platform string // the system
	state    string // where the unit in contrib has its state
	cgroups  string // where control groups are mounted
	root     bool
}

// here is the machine that we are on.
func here() machine {
	return machine{platform: runtime.GOOS, state: unitState, cgroups: "/sys/fs/cgroup", root: os.Getuid() == 0}
}

// platformError says that no launcher works on this system.
type platformError struct{ system string }

func (e *platformError) Error() string {
	return fmt.Sprintf("sandboxes are made on Linux only, and this is %s: no launcher works here", e.system)
}

// Next is where it works.
func (e *platformError) Next() string {
	return "run the watcher on Linux; on a Mac, in the virtual machine of the engine (docs/OPERATIONS.md, On a Mac)"
}

// onLinux is asked by the commands that make sandboxes or remove them, before they touch anything.
func (m machine) onLinux() error {
	if m.platform == "linux" {
		return nil
	}
	return &platformError{m.platform}
}
