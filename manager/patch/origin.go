package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"torno/internal/beneath"
)

// ErrOtherOrigin says that the directory that was copied is no longer at its path.
var ErrOtherOrigin = errors.New("the copied directory is gone, and another directory is at its path")

// Origin opens the directory that was copied.
func (s *Store) Origin(b *Base) (*os.Root, error) {
	dir, err := OpenDirectory(s.outbox, b.Origin)
	if err != nil {
		return nil, err
	}
	found, err := identityOf(dir)
	if err == nil && !b.OriginPlace.Same(found) {
		err = fmt.Errorf("%s: %w", b.Origin, ErrOtherOrigin)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// maxLinks bounds how many links a path may go through.
const maxLinks = 40

// OpenDirectory opens a directory of the parent's by its absolute path. It follows the parent's links, but no link
// inside the outbox, because a child may have put one there to lead its parent elsewhere.
func OpenDirectory(outbox, dir string) (*os.Root, error) {
	box, err := os.Stat(outbox)
	if err != nil {
		return nil, err
	}
	at, rest := string(filepath.Separator), names(dir)
	for links := 0; len(rest) > 0; {
		info, err := os.Stat(at)
		if err != nil {
			return nil, err
		}
		if os.SameFile(info, box) {
			return openBelow(at, filepath.Join(rest...))
		}
		next := filepath.Join(at, rest[0])
		info, err = os.Lstat(next)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return nil, fmt.Errorf("%s: the path leads through too many links", dir)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return nil, err
		}
		if filepath.IsAbs(target) {
			at = string(filepath.Separator)
		}
		rest = append(names(target), rest[1:]...)
	}
	return os.OpenRoot(at)
}

// MakeDirectory opens a directory like OpenDirectory, and makes the directories that are missing.
func MakeDirectory(outbox, dir string) (*os.Root, error) {
	root, err := OpenDirectory(outbox, dir)
	if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
		return root, err
	}
	above, err := MakeDirectory(outbox, filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := above.Mkdir(filepath.Base(dir), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.Step(above, filepath.Base(dir))
}

// openBelow opens a directory through no link.
func openBelow(dir, rel string) (*os.Root, error) {
	if !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s leads out of %s", rel, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return beneath.Dir(root, rel)
}

// names returns the parts of a path.
func names(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}
