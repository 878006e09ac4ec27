// Package trust decides whether users other than root and the watcher's own user can replace a file or directory that
// the watcher executes, takes orders from, or shows to a sandbox.
//
//	err := trust.Places().Check("/srv/rootfs")                // a path that the configuration names
//	real, err := trust.Places().Follow("/etc/torno/watcher.yaml") // the same, but links may lead there
//	real, err := trust.Programs(own).Follow("/usr/bin/runsc") // a program; own is the watcher's own program
//
// If Check returns nil, it promises: the path leads through no link, trusted users own the file and every directory
// above it, and no other user may write them. A directory with the sticky bit may be writable for all users, because
// there only the owner of an entry can move or remove it, and the owner of the entry is trusted. Check goes from the
// file up. Once it has seen that only trusted users can change the directories above, nothing that it saw below can
// have changed. So the path leads to the same file until a trusted user changes it.
//
// A group may write if the owner is its only member: many systems give each user a private group with the user's own
// number.
package trust

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Rule says which users are trusted with a file.
type Rule struct {
	users []uint32
	// alone means that only the owner may write the file, and no group may. It also means that the file's directory may
	// not be writable for all users, sticky or not.
	alone bool
}

// Places returns the rule for files and directories that the configuration names.
func Places() Rule { return Rule{users: []uint32{0, uint32(os.Geteuid())}} }

// Programs returns the rule for programs that the watcher executes. It also trusts the owner of the watcher's own
// program, because that user can exchange the watcher itself.
func Programs(own string) Rule {
	r := Places()
	r.alone = true
	if info, err := os.Stat(own); err == nil {
		r.users = append(r.users, ownerOf(info).Uid)
	}
	return r
}

// Error says why another user could exchange a file.
type Error struct {
	Path string // the file, or the directory above it, that another user could change
	What string
}

func (e *Error) Error() string { return e.Path + " " + e.What }

// Check makes sure that only trusted users can exchange the file or directory at an absolute path.
func (r Rule) Check(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if err := r.checkOne(at, info, at == path, filepath.Dir(path) == at); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// maxLinks bounds how many links a path may lead through, as the kernel does.
const maxLinks = 40

// Follow returns the path without links to which an absolute path leads. It makes sure that only trusted users can
// change where the path leads. It goes from the root down: once it has checked a directory, no other user can exchange
// the entries in it. So the path leads there until a trusted user changes a step. If Follow returns fs.ErrNotExist, it
// has checked every part that exists. The caller must follow the path again after making the rest, because in a
// directory such as /tmp another user could have made it first.
func (r Rule) Follow(path string) (string, error) {
	way, err := r.Way(path)
	if err != nil {
		return "", err
	}
	return way[len(way)-1], nil
}

// Way follows a path as Follow does. It returns each link on the way, and at the end the path without links.
func (r Rule) Way(path string) (way []string, err error) {
	at := "/"
	names := strings.Split(path, "/")
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		next := filepath.Join(at, name) // Join takes "" and "." for at itself, and ".." for the directory above
		info, err := os.Lstat(next)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := r.checkOne(next, info, len(names) == 0, false); err != nil {
				return nil, err
			}
			at = next
			continue
		}
		if !slices.Contains(r.users, ownerOf(info).Uid) {
			return nil, foreign(next, info)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return nil, err
		}
		if way = append(way, next); len(way) > maxLinks {
			return nil, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		names = append(strings.Split(target, "/"), names...)
	}
	if r.alone {
		err = r.Check(at) // Check also looks at the directory that holds the file
	}
	return append(way, at), err
}

// CheckFile makes sure that only trusted users own and may write an open file. name is for the error.
func (r Rule) CheckFile(name string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o020 != 0 {
		return &Error{name, fmt.Sprintf("can be written by a group (mode %04o)", info.Mode().Perm())}
	}
	return r.checkOne(name, info, true, false)
}

// checkOne checks the file itself, or a directory above it. direct means the directory that holds the file.
func (r Rule) checkOne(at string, info fs.FileInfo, file, direct bool) error {
	owner := ownerOf(info)
	written := othersWrite(at, info) || file && r.alone && info.Mode().Perm()&0o020 != 0
	keepsEntries := !file && info.Mode()&fs.ModeSticky != 0 && (!direct || !r.alone)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &Error{at, "is a link; write the path that the link leads to"}
	case !slices.Contains(r.users, owner.Uid):
		return foreign(at, info)
	case !written || keepsEntries:
		return nil
	}
	return &Error{at, fmt.Sprintf("can be written by others than its owner (mode %04o)", info.Mode().Perm())}
}

// foreign returns the error for a file whose owner is not trusted.
func foreign(at string, info fs.FileInfo) error {
	return &Error{at, fmt.Sprintf("belongs to user %d, but must belong to root or the user of this program", ownerOf(info).Uid)}
}

// othersWrite reports whether users other than the owner may write. If the file has an access list, the group's bits
// are those of the whole list.
func othersWrite(at string, info fs.FileInfo) bool {
	owner := ownerOf(info)
	switch mode := info.Mode().Perm(); {
	case mode&0o002 != 0:
		return true
	case mode&0o020 == 0:
		return false
	case !slices.Contains(rootGroups, owner.Gid) && owner.Gid != owner.Uid:
		return true
	}
	return hasAccessList(at)
}

func ownerOf(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }
