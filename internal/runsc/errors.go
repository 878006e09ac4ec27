package runsc

import "fmt"

// Reason classifies the fault of a program, so that code can act on it.
type Reason string

// These are the possible reasons.
const (
	Missing    Reason = "missing"     // there is no program, or it cannot be executed
	Unsafe     Reason = "unsafe"      // another user could exchange it
	Mute       Reason = "mute"        // it cannot be asked, or does not answer in time
	Foreign    Reason = "foreign"     // it is a different program
	TooOld     Reason = "too_old"     // or its version does not tell its age
	NeedsLinux Reason = "needs_linux" // gVisor does not work on this system
)

// Error tells why there is no usable program.
type Error struct {
	Reason Reason
	Path   string // the path that was looked at, or where it was looked for
	What   string // a sentence about it
	Err    error  // may be nil
}

func (e *Error) Error() string {
	text := e.What
	if e.Path != "" {
		text = e.Path + " " + text
	}
	if e.Err != nil {
		text = fmt.Sprintf("%s: %v", text, e.Err)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Next returns the advice for the operator.
func (e *Error) Next() string {
	switch e.Reason {
	case Unsafe:
		return "make root its owner, and let only root write to it (sudo install -m 0755 bin/runsc /usr/local/bin/), or name another runsc with gvisor.runsc"
	case NeedsLinux:
		return "run the watcher on Linux; on a Mac, run it in the engine's virtual machine"
	default:
		return "run make build, which puts the right runsc beside the watcher, or name a runsc with gvisor.runsc"
	}
}
