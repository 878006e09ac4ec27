package mounts

import (
	"errors"
	"fmt"

	"torno/sandbox"
)

// ErrNeedsLinux is the error of every function here on other systems.
var ErrNeedsLinux = errors.New("mounts by handle need Linux")

// ErrNoSlot says that every slot is taken.
var ErrNoSlot = errors.New("no slot is free")

// ErrSlotInUse says that the slot of this number is already handed out.
var ErrSlotInUse = errors.New("the slot is in use")

// ErrRootGone is the cause of a PathError if the operator's directory itself was removed after OpenBases. Whatever lies
// at its path now is another directory.
var ErrRootGone = errors.New("the root was removed since it was opened")

// ErrTaken says that the place has a mount already, or that a mount was placed below it earlier.
var ErrTaken = errors.New("the place is taken; mounts are placed outermost first, each once")

// ErrNoPlace says that a mount should go inside an earlier one, but the place there is missing, is a link, or has the
// wrong type.
var ErrNoPlace = errors.New("the mount around it has no fitting place")

// ErrNotPlaced says that a place of a slot does not hold the mount that was placed there.
var ErrNotPlaced = errors.New("the slot does not hold the mount that was placed in it")

// ErrBelow says that something is mounted below a source. The kernel lets only root leave such a mount out, because an
// ordinary user would otherwise see what the mount hides.
var ErrBelow = errors.New("something is mounted below it, which only root can leave out of a sandbox: unmount that, or run the watcher as root")

// Kind classifies the fault of a source.
type Kind string

// The kinds of a PathError.
const (
	KindInvalid    Kind = "invalid"    // not a clean relative path
	KindEscapes    Kind = "escapes"    // leads out of its base, or the base does not belong to the operator
	KindMissing    Kind = "missing"    // does not exist, or was removed
	KindLink       Kind = "link"       // a symbolic link on the way, or a file with several names (hard links)
	KindNotDir     Kind = "notdir"     // a part of the path before the last is not a directory
	KindSpecial    Kind = "special"    // a FIFO, socket or device
	KindMountpoint Kind = "mountpoint" // lies in a different mount from its base
	KindDenied     Kind = "denied"     // the kernel does not let us open it
	KindWithheld   Kind = "kept"       // part of a withheld place; the cause is a WithheldError
)

var reasons = map[Kind]string{
	KindInvalid:    "is not a clean path beneath its root",
	KindEscapes:    "does not lie beneath a root of the operator's",
	KindMissing:    "does not exist",
	KindLink:       "is a link or is reached through one; links are not followed",
	KindNotDir:     "is reached through something that is not a directory",
	KindSpecial:    "is neither a directory nor a regular file",
	KindMountpoint: "lies in a file system that is mounted below its root; that mount must be listed as a root of its own",
	KindDenied:     "may not be opened by the watcher",
	KindWithheld:   "is kept from sandboxes",
}

// PathError says why a source cannot be pinned. The fault lies with the request, or with a process that moves the
// request's files.
type PathError struct {
	Source sandbox.Source
	Kind   Kind
	Err    error // the kernel's answer, if it was asked
}

func (e *PathError) Error() string {
	text := fmt.Sprintf("%q beneath %q %s", e.Source.Rel, e.Source.Base, e.Reason())
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Reason returns the rest of a sentence that begins with the path. The caller writes the path as its reader knows it.
func (e *PathError) Reason() string { return reasons[e.Kind] }

func (e *PathError) Unwrap() error { return e.Err }

// ErrNotApart says that a place of the operator's is, holds or lies in a place that a request could reach.
var ErrNotApart = errors.New("it is, holds or lies in a place that requests reach")
