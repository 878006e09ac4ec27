//go:build linux

package initproc

import (
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

// answer says where the answer file is: name, in the directory dir beneath the handle root. Init opens the directory
// anew each time, because the agent may have exchanged it meanwhile.
type answer struct {
	path string // for messages
	root int
	dir  string
	name string
	left *unix.Stat_t // the entry that could not be moved aside; nil if there is none
}

// moveAside makes sure that nothing from before this run is taken for its answer. If it cannot, the run goes on with a
// warning.
func (a *answer) moveAside(warnings []string) []string {
	dir, err := openDir(a.root, a.dir, true)
	if err == nil {
		err = errors.Join(moveAside(dir, a.name), moveAside(dir, a.name+runfile.WholeSuffix))
		a.left = look(dir, a.name)
		unix.Close(dir)
	}
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("an answer from before this run may still be at %q: %v", a.path, err))
	}
	return warnings
}

func moveAside(dir int, name string) error {
	var stat unix.Stat_t
	err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		return errors.New("a directory has its name")
	}
	err = unix.Renameat(dir, name, dir, name+runfile.PreviousSuffix)
	if errors.Is(err, unix.EISDIR) { // an earlier child has blocked the new name with a directory
		err = unix.Unlinkat(dir, name, 0)
	}
	return err
}

// look describes a directory entry; for a link, the link itself. It returns nil if there is none.
func look(dir int, name string) *unix.Stat_t {
	var stat unix.Stat_t
	if unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	return &stat
}

// settle finds the answer after the agent's end, and returns messages about it. If the agent wrote the file itself,
// that file is the answer. Otherwise the answer is the agent's standard output.
func (a *answer) settle(printed kept) (says []string) {
	own, instead := a.agents()
	if own {
		return printed.whole.drop()
	}
	if instead != "" {
		says = append(says, fmt.Sprintf("the agent left an unusable answer at %q, %s; the answer is its standard output instead", a.path, instead))
	}
	err := a.publish(printed.chunks)
	switch {
	case err != nil:
		says = append(says, fmt.Sprintf("the answer was not written to %q: %v", a.path, err))
	case printed.cut:
		says = append(says, fmt.Sprintf("the answer was cut at %d bytes; %s", printed.size, printed.whole.describe()))
	}
	return says
}

// agents reports whether the agent itself wrote the file at the answer's place. If something else is there that cannot
// be read as an answer, instead names it. A directory is not named: it stays, and publish reports it.
func (a *answer) agents() (own bool, instead string) {
	dir, err := openDir(a.root, a.dir, false)
	if err != nil {
		return false, ""
	}
	defer unix.Close(dir)
	there := look(dir, a.name)
	if there == nil || unchanged(there, a.left) {
		return false, ""
	}
	switch there.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if there.Nlink == 1 {
			return true, ""
		}
		return false, "a file with more than one name"
	case unix.S_IFDIR:
		return false, ""
	case unix.S_IFLNK:
		return false, "a link"
	}
	return false, "not a file"
}

// unchanged reports whether two looks saw the same entry with the same content.
func unchanged(now, before *unix.Stat_t) bool {
	return before != nil && now.Dev == before.Dev && now.Ino == before.Ino && now.Size == before.Size && now.Ctim == before.Ctim
}

// publish makes the chunks the answer, whole or not at all.
func (a *answer) publish(chunks [][]byte) error {
	dir, err := openDir(a.root, a.dir, true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	temp, err := tempName()
	if err != nil {
		return err
	}
	if err := writeNew(dir, temp, chunks); err != nil {
		return err
	}
	if err := unix.Renameat(dir, temp, dir, a.name); err != nil {
		return errors.Join(err, unix.Unlinkat(dir, temp, 0))
	}
	return nil
}

// writeNew writes a file that must not exist yet. If it fails, it leaves no file.
func writeNew(dir int, name string, chunks [][]byte) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err = pipes.WriteAll(fd, chunk); err != nil {
			break
		}
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	return nil
}

// tempName returns a name that the agent cannot have guessed.
func tempName() (string, error) {
	var random [16]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return "", err
	}
	return ".torno-answer-" + hex.EncodeToString(random[:]), nil
}
