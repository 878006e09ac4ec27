package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/configs"
	"torno/internal/mounts"
	"torno/internal/paths"
)

// These are the modes of new directories. Only the owner and the group of an outbox have access, because it holds tasks
// and answers.
const (
	outboxMode = 0o770
	onTheWay   = 0o755
)

// makeOutboxes makes the outboxes and the allowed roots in them, if that was asked for, before the first host of a
// process.
func (h *host) makeOutboxes(context.Context) error {
	if !h.MakeOutbox || h.handed != nil && h.handed.state != nil {
		return nil
	}
	return MakeOutboxes(h.Config)
}

// MakeOutboxes makes the missing outboxes of a configuration, and the missing allowed roots in them. If root makes
// something in a user's directory, it belongs to that user.
func MakeOutboxes(c configs.Config) error {
	for _, o := range c.Outboxes {
		if err := makeShared(o.Dir); err != nil {
			return fmt.Errorf("make the outbox: %w", err)
		}
		for _, root := range o.Allow {
			if !paths.Within(o.Dir, root) {
				continue
			}
			if err := makeShared(root); err != nil {
				return fmt.Errorf("make a directory for workspaces: %w", err)
			}
		}
	}
	return nil
}

// makeShared makes a directory, unless it exists, and gives it the owner of the directory around it. So if root makes
// it in a user's project, it belongs to the user. makeShared makes missing directories above it in the same way.
func makeShared(path string) error {
	made, err := makeBelow(path, outboxMode)
	if err != nil {
		return err
	}
	return made.Close()
}

// makeBelow goes down by handle, so that the owners of the directories above cannot lead it elsewhere. It follows a
// link only if root or we must have put it there.
func makeBelow(path string, mode uint32) (*os.File, error) {
	held, err := mounts.OpenTrustedDir(path)
	if !errors.Is(err, fs.ErrNotExist) || path == "/" {
		return held, err
	}
	around, err := makeBelow(filepath.Dir(path), onTheWay)
	if err != nil {
		return nil, err
	}
	defer around.Close()
	if err := makeFor(around, filepath.Base(path), mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return mounts.OpenTrustedDir(path)
}
