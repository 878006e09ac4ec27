package images

import (
	"fmt"
	"strings"
)

// Code is the kind of an Error.
type Code string

// The codes of an Error.
const (
	BadReference Code = "bad_reference" // the text names no image
	Unpinned     Code = "unpinned"      // a tag that the operator did not allow us to follow
	NotFound     Code = "not_found"     // no such file, image, tag or digest
	Unsafe       Code = "unsafe"        // another user, or a parent, could replace the file
	Denied       Code = "denied"        // the registry refuses our credentials, or the file system refuses access
	Unreachable  Code = "unreachable"   // the registry does not exist or does not work
	Slow         Code = "slow"          // the registry sends next to nothing, or the deadline has passed
	Astray       Code = "astray"        // the registry leads to an address that we do not contact
	Mismatch     Code = "mismatch"      // the content does not match its digest or its size
	Malformed    Code = "malformed"     // not an image, or an archive that no builder makes
	TooLarge     Code = "too_large"     // the image exceeds a bound
	NoRoom       Code = "no_room"       // the image would take the disk below its floor
	NoPlatform   Code = "no_platform"   // the image is for other machines only
)

// Error tells which image failed, how, and which step may help.
type Error struct {
	Code  Code
	Image string // the reference as it was given
	What  string
	Next  string
	Err   error // from the system or the network; may be nil
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

// next holds the usual next step for each Code, unless the error knows a better step.
var next = map[Code]string{
	Mismatch:    "the cache is unharmed; try again; if it happens again, do not trust the source",
	Malformed:   "export the image again, or use another image",
	TooLarge:    "use a smaller image, or raise the limit",
	NoRoom:      "make room there, lower gvisor.cache or disk.floor, or put the state on another disk",
	Unreachable: "check the name and the network, or bring the image as archive:/path",
	Slow:        "try again later, or bring the image as archive:/path",
	Astray:      "use the registry's own name, with https",
	Unsafe:      "put it where only root and the watcher's user may write, and name it by a path without links",
	Denied:      "log in with docker or podman as the user of the watcher",
	NotFound:    "check the reference",
	NoPlatform:  "use an image that was built for this machine too",
}

func problem(code Code, format string, args ...any) *Error {
	return &Error{Code: code, What: fmt.Sprintf(format, args...), Next: next[code]}
}

// because returns a problem that wraps err.
func because(err error, code Code, format string, args ...any) *Error {
	e := problem(code, format, args...)
	e.Err = err
	return e
}

// maxQuoted bounds how many bytes of a foreign name an error shows.
const maxQuoted = 128

// quoted makes a name that a stranger wrote safe to show.
func quoted(name string) string {
	if len(name) > maxQuoted {
		return fmt.Sprintf("%q…", name[:maxQuoted])
	}
	return fmt.Sprintf("%q", name)
}
