package carry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

// Put writes a file beneath a directory. It replaces an existing file with the same name.
func Put(root *os.Root, rel string, data []byte) error {
	return put(root, rel, bytes.NewReader(data), time.Time{})
}

// put writes a file. It sets the file's time unless at is zero.
func put(root *os.Root, rel string, from io.Reader, at time.Time) (err error) {
	dir, err := makeDirs(root, filepath.Dir(rel))
	if err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	defer dir.Close()
	draft, err := atomicfile.BeginIn(dir, ".", 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	_, err = io.Copy(draft, from)
	err = errors.Join(err, own(dir, draft.Chown))
	if err == nil && !at.IsZero() {
		err = draft.SetTime(at)
	}
	if err == nil {
		err = draft.Put(filepath.Base(rel), atomicfile.Fast)
	}
	if err = errors.Join(err, draft.Drop()); err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	return nil
}

// own gives a new file or directory to the owner of its parent directory, if we may.
func own(dir *os.Root, chown func(uid, gid int) error) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if err := chown(int(stat.Uid), int(stat.Gid)); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// makeDirs opens a directory beneath a root, and makes the missing parts of the path. It refuses a link on the way.
func makeDirs(root *os.Root, rel string) (*os.Root, error) {
	if !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is no path below the directory", rel)
	}
	here, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		next, err := Enter(here, name)
		here.Close()
		if err != nil {
			return nil, err
		}
		here = next
	}
	return here, nil
}

// Enter opens a directory in another directory, and makes it if it is missing. It refuses a link.
func Enter(parent *os.Root, name string) (*os.Root, error) {
	err := parent.Mkdir(name, 0o755)
	if err == nil {
		err = own(parent, func(uid, gid int) error { return parent.Lchown(name, uid, gid) })
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.Step(parent, name)
}
