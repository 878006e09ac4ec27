package runsc

import "fmt"

// Reason is what is wrong with a program, for programs.
type Reason string

// The reasons.
const (
	Missing    Reason = "missing"     // there is no program, or it cannot be executed
	Unsafe     Reason = "unsafe"      // another user could exchange it
	Mute       Reason = "mute"        // it cannot be asked, or does not answer in time
	Foreign    Reason = "foreign"     // it is something else
	TooOld     Reason = "too_old"     // or of an age that it does not tell
	NeedsLinux Reason = "needs_linux" // none works on this system
)

// Error is why there is no program that can be used.
type Error struct {
	Reason Reason
	Path   string // what was looked at, or where it was looked for
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

// Next is what to do about it.
func (e *Error) Next() string {
	switch e.Reason {
	case Unsafe:
		return "have it owned by root and writable by its owner alone (sudo install -m 0755 bin/runsc /usr/local/bin/), or name another one with gvisor.runsc"
	case NeedsLinux:
		return "run the watcher on Linux; on a Mac, in the virtual machine in which the engine runs"
	default:
		return "make build puts the right one beside the watcher; or name one with gvisor.runsc"
	}
}
