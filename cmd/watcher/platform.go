package main

import (
	"fmt"
	"runtime"
)

// platform is the system that we are on. It is a variable so that stories can be on one without sandboxes.
var platform = runtime.GOOS

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
func onLinux() error {
	if platform == "linux" {
		return nil
	}
	return &platformError{platform}
}
