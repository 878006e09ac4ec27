package runsc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// owners are the users whose files we would execute.
type owners struct {
	uids   []uint32
	strict bool // everything has to be theirs
}

// ownersOf trusts root, ourselves, and whoever can exchange the program that is running. As root that is not only who is
// trusted but who has to be the owner.
func ownersOf(own string) owners {
	o := owners{uids: []uint32{0, uint32(os.Geteuid())}, strict: os.Geteuid() == 0}
	if info, err := os.Stat(own); err == nil {
		o.uids = append(o.uids, owner(info))
	}
	return o
}

// hold makes sure that nobody else can exchange what a path without links leads to. It goes from the file up, and what was
// seen below cannot change behind our back once all above it is seen to be held.
func (o owners) hold(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return &Error{Reason: Missing, Path: path, What: "cannot be looked at", Err: reason(err)}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return unsafe(path, "can be written by others than its owner (mode %04o)", info.Mode().Perm())
	}
	below := info
	for dir, last := filepath.Dir(path), path; ; dir, last = filepath.Dir(dir), dir {
		if o.strict && !o.have(below) {
			return unsafe(last, "belongs to user %d, and is to be executed as root", owner(below))
		}
		if dir == last {
			return nil
		}
		if info, err = os.Lstat(dir); err != nil {
			return &Error{Reason: Missing, Path: dir, What: "cannot be looked at", Err: reason(err)}
		}
		if err := o.holdEntry(dir, info, last, below, last == path); err != nil {
			return err
		}
		below = info
	}
}

// holdEntry makes sure that a directory keeps one of its entries. Where everybody may write, the sticky bit keeps it for
// its owner; the directory of the program itself may not even be such a one.
func (o owners) holdEntry(dir string, info fs.FileInfo, entry string, below fs.FileInfo, direct bool) error {
	switch open := info.Mode().Perm()&0o002 != 0; {
	case !info.IsDir():
		return unsafe(dir, "was a directory a moment ago")
	case open && (direct || info.Mode()&fs.ModeSticky == 0):
		return unsafe(entry, "lies in a directory that everybody can write")
	case open && !o.have(below):
		return unsafe(entry, "lies in a directory that everybody can write, and belongs to user %d", owner(below))
	}
	return nil
}

func (o owners) have(info fs.FileInfo) bool { return slices.Contains(o.uids, owner(info)) }

func owner(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

func unsafe(path, format string, args ...any) error {
	return &Error{Reason: Unsafe, Path: path, What: fmt.Sprintf(format, args...)}
}
