package images

import (
	"fmt"
	"strings"
)

// Code says what kind of thing went wrong.
type Code string

// The codes of an Error.
const (
	BadReference Code = "bad_reference" // the text names no image
	Unpinned     Code = "unpinned"      // a tag, and the operator did not allow to follow it
	NotFound     Code = "not_found"     // no such file, image, tag or digest
	Unsafe       Code = "unsafe"        // another user, or a parent, could replace it
	Denied       Code = "denied"        // the registry wants other credentials, or the file system other rights
	Unreachable  Code = "unreachable"   // there is no registry, or it is broken
	Slow         Code = "slow"          // it brings nothing
	Astray       Code = "astray"        // it sends us where we do not go
	Mismatch     Code = "mismatch"      // it is not what its digest or its size says
	Malformed    Code = "malformed"     // not an image, or an archive that no builder makes
	TooLarge     Code = "too_large"     // beyond a bound
	NoRoom       Code = "no_room"       // the disk's floor would be reached
	NoPlatform   Code = "no_platform"   // an image for other machines
)

// Error says what happened to which image, and what to do.
type Error struct {
	Code  Code
	Image string // the reference as it was given
	What  string
	Next  string
	Err   error // what the system or the network said; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "image %s: %s", e.Image, e.What)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Next != "" {
		fmt.Fprintf(&b, "; %s", e.Next)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// next is the next step for an error of this kind, where nothing better is known.
var next = map[Code]string{
	Mismatch:    "the cache is unharmed; try again, and if it stays, do not trust the source",
	Malformed:   "export the image again, or use another",
	TooLarge:    "use a smaller image, or raise the limit",
	NoRoom:      "make room there, have a smaller gvisor.cache or disk.floor, or put the state on another disk",
	Unreachable: "check the name and the network, or bring the image as archive:/path",
	Slow:        "try again later, or bring the image as archive:/path",
	Astray:      "use the registry's own name, with https",
	Unsafe:      "have it where only root and the watcher's user may write, and name it without links",
	Denied:      "log in with docker or podman as the user of the watcher",
	NotFound:    "check the reference",
	NoPlatform:  "use an image that was built for this machine too",
}

func problem(code Code, format string, args ...any) *Error {
	return &Error{Code: code, What: fmt.Sprintf(format, args...), Next: next[code]}
}

// because is the same with the error behind it.
func because(err error, code Code, format string, args ...any) *Error {
	e := problem(code, format, args...)
	e.Err = err
	return e
}

// maxQuoted is how much of a foreign name an error shows.
const maxQuoted = 128

// quoted is a name that a stranger wrote.
func quoted(name string) string {
	if len(name) > maxQuoted {
		return fmt.Sprintf("%q…", name[:maxQuoted])
	}
	return fmt.Sprintf("%q", name)
}
