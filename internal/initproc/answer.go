//go:build linux

package initproc

import (
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// answer is the place of the answer file: the name in the directory dir beneath the handle root. The directory is opened
// anew each time, because the agent may have put another one in its place meanwhile.
type answer struct {
	path string // for messages
	root int
	dir  string
	name string
}

// moveAside makes sure that nothing from before this run is taken for its answer. Where that cannot be had the run goes
// on, with a warning.
func (a *answer) moveAside(warnings []string) []string {
	dir, err := openDir(a.root, a.dir, true)
	if err == nil {
		err = moveAside(dir, a.name)
		unix.Close(dir)
	}
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("an answer from before this run may be at %q: %v", a.path, err))
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
	if errors.Is(err, unix.EISDIR) { // an earlier child wanted it to stay
		err = unix.Unlinkat(dir, name, 0)
	}
	return err
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

// writeNew writes a file that must not exist yet, and leaves none when it fails.
func writeNew(dir int, name string, chunks [][]byte) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err = writeAll(fd, chunk); err != nil {
			break
		}
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	return nil
}

// tempName is a name that nobody can have planted.
func tempName() (string, error) {
	var random [16]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return "", err
	}
	return ".torno-answer-" + hex.EncodeToString(random[:]), nil
}
