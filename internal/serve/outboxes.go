package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// outboxMode keeps an outbox to its owner and group: tasks and answers are in it.
const outboxMode = 0o770

// makeOutboxes makes the outboxes and the allowed roots in them, if that was asked for.
func (h *host) makeOutboxes(context.Context) error {
	if !h.MakeOutbox {
		return nil
	}
	for _, o := range h.Config.Outboxes {
		if err := makeShared(o.Dir); err != nil {
			return fmt.Errorf("make the outbox: %w", err)
		}
		for _, root := range o.Allow {
			if !sandbox.Within(o.Dir, root) {
				continue
			}
			if err := makeShared(root); err != nil {
				return fmt.Errorf("make a directory for workspaces: %w", err)
			}
		}
	}
	return nil
}

// makeShared makes a directory, unless it is there, that belongs to whom the directory around it belongs: what root makes
// in a user's project is the user's.
func makeShared(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	around, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer around.Close()
	name := filepath.Base(path)
	if err := unix.Mkdirat(int(around.Fd()), name, 0o700); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	fd, err := unix.Openat(int(around.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	made := os.NewFile(uintptr(fd), path)
	defer made.Close()
	return giveAway(made, around)
}

// giveAway hands a new directory to its owner. The owner of the directory around it may have put another one in its
// place meanwhile, which must gain them nothing: only an empty one of ours is given.
func giveAway(made, around *os.File) error {
	var have, owner unix.Stat_t
	if err := errors.Join(unix.Fstat(int(made.Fd()), &have), unix.Fstat(int(around.Fd()), &owner)); err != nil {
		return fmt.Errorf("look at %s: %w", made.Name(), err)
	}
	if _, err := made.Readdirnames(1); int(have.Uid) != os.Geteuid() || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s was replaced while it was made", made.Name())
	}
	if os.Geteuid() == 0 {
		if err := made.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return made.Chmod(outboxMode)
}
