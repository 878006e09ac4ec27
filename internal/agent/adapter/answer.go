//go:build linux

package adapter

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
)

const handle = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// writeAnswer puts the text into the file name, whole or not at all. It follows no link: the agent may have put one
// anywhere.
func writeAnswer(name, text string) error {
	dir, err := openDir(path.Dir(name))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var random [16]byte
	if _, err := unix.Getrandom(random[:], 0); err != nil {
		return err
	}
	temp := ".torno-agent-" + hex.EncodeToString(random[:])
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	err = errors.Join(pipes.WriteAll(fd, []byte(text)), unix.Close(fd))
	if err == nil {
		err = unix.Renameat(dir, temp, dir, path.Base(name))
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(dir, temp, 0))
	}
	return nil
}

// openDir opens a directory step by step. Each step must be a directory and no link.
func openDir(dir string) (int, error) {
	begin := "."
	if path.IsAbs(dir) {
		begin = "/"
	}
	fd, err := unix.Open(begin, handle, 0)
	if err != nil {
		return -1, err
	}
	for step := range strings.SplitSeq(path.Clean(dir), "/") {
		if step == "" || step == "." {
			continue
		}
		next, err := unix.Openat(fd, step, handle, 0)
		unix.Close(fd)
		if err != nil {
			return -1, fmt.Errorf("%q: %w", step, err)
		}
		fd = next
	}
	return fd, nil
}
