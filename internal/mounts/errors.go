package mounts

import (
	"errors"
	"fmt"

	"torno/sandbox"
)

// ErrNeedsLinux is returned by everything here on another system.
var ErrNeedsLinux = errors.New("mounts by handle need Linux")

// ErrNoSlot says that every slot is taken.
var ErrNoSlot = errors.New("no slot is free")

// ErrSlotInUse says that the slot of this number was handed out already.
var ErrSlotInUse = errors.New("the slot is in use")

// ErrRootGone is the cause of a PathError when the operator's directory itself was removed after OpenBases: whatever lies
// at its path now is another directory.
var ErrRootGone = errors.New("the root was removed since it was opened")

// ErrTaken says that a mount, or something below which one was placed earlier, lies where another one should go.
var ErrTaken = errors.New("the place is taken; mounts are placed outermost first, each once")

// ErrNoPlace says that a mount should go inside an earlier one, where nothing fits: not there, a link, or of the wrong type.
var ErrNoPlace = errors.New("the mount around it has no fitting place")

// ErrNotPlaced says that a place of a slot does not have the mount that was placed there.
var ErrNotPlaced = errors.New("the slot does not hold what was placed in it")

// ErrBelow says that something is mounted below a source, and that the kernel lets only root leave it out: an ordinary
// user would otherwise see what the mount hides.
var ErrBelow = errors.New("something is mounted below it, which only root can leave out of a sandbox: unmount that, or run the watcher as root")

// Kind says what is wrong with a source.
type Kind string

// The kinds of a PathError.
const (
	KindInvalid    Kind = "invalid"    // not a clean relative path
	KindEscapes    Kind = "escapes"    // leads out of its base, or the base is not one of the operator's
	KindMissing    Kind = "missing"    // does not exist, or was removed
	KindLink       Kind = "link"       // a symbolic link on the way, or a file with several names
	KindNotDir     Kind = "notdir"     // something on the way is not a directory
	KindSpecial    Kind = "special"    // a FIFO, socket or device
	KindMountpoint Kind = "mountpoint" // lies in another mount than its base
	KindDenied     Kind = "denied"     // the kernel does not let us
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

// PathError says why a source cannot be pinned. The fault lies with the request, or with a process that moves its files.
type PathError struct {
	Source sandbox.Source
	Kind   Kind
	Err    error // the kernel's word, if it was asked
}

func (e *PathError) Error() string {
	text := fmt.Sprintf("%q beneath %q %s", e.Source.Rel, e.Source.Base, e.Reason())
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text
}

// Reason completes a sentence whose subject is the path, in whichever view the reader knows it.
func (e *PathError) Reason() string { return reasons[e.Kind] }

func (e *PathError) Unwrap() error { return e.Err }

// ErrNotApart says that a place of the operator's is, holds or lies in what a request could reach.
var ErrNotApart = errors.New("it is, holds or lies in a place that requests reach")
