package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// over says what may be replaced: nothing, what is known to be there, or any file.
type over struct {
	was *Entry
	any bool
}

// settle gives what lies at temp its name. Where that fails, what lies at temp goes.
func settle(ctx context.Context, dir *os.Root, temp, name string, over over) error {
	var err error
	switch {
	case over.was != nil:
		return swap(ctx, dir, temp, name, over.was)
	case over.any:
		err = dir.Rename(temp, name)
		if errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) {
			err = errThere // a directory
		}
	default:
		err = takeFree(dir, temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// takeFree takes a name that should be free by a hard link, which replaces nothing; not every file system has those.
func takeFree(dir *os.Root, temp, name string) error {
	err := dir.Link(temp, name)
	switch {
	case err == nil:
		return dir.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return errThere
	}
	if _, seen := dir.Lstat(name); !errors.Is(seen, fs.ErrNotExist) {
		return errors.Join(seen, errThere)
	}
	if err := dir.Rename(temp, name); err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

var errNoExchange = errors.New("the file system exchanges no names")

// swap puts a file in the place of one that is known. It looks at what came out: where the parent has changed it meanwhile, that
// goes back to its place. Where names cannot be exchanged it looks just before.
func swap(ctx context.Context, dir *os.Root, temp, name string, was *Entry) error {
	err := exchangeNames(dir, temp, name)
	if errors.Is(err, errNoExchange) {
		if err = stillIs(ctx, dir, name, was); err == nil {
			err = dir.Rename(temp, name)
		}
		if err != nil {
			err = errors.Join(err, dir.Remove(temp))
		}
		return err
	}
	if err != nil {
		return errors.Join(ErrChanging, err, dir.Remove(temp))
	}
	if changed := stillIs(ctx, dir, temp, was); changed != nil {
		if err := exchangeNames(dir, temp, name); err != nil {
			return fmt.Errorf("%w; the file that was there is %s now: %w", changed, temp, err)
		}
		return errors.Join(changed, dir.Remove(temp))
	}
	return dir.Remove(temp)
}

// stillIs fails where there is something else than is known.
func stillIs(ctx context.Context, dir *os.Root, name string, was *Entry) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return errors.Join(ErrChanging, err)
	}
	now, err := entryOf(dir, name, info, func(e *Entry) error { return digest(ctx, dir, name, e) })
	if err != nil {
		return err
	}
	if !same(now, was) {
		return fmt.Errorf("%w: it was changed while the new one was written", ErrChanging)
	}
	return nil
}

// remove removes what is known to be there: an empty directory, or a file or link, which it takes aside first to look at it.
func (t target) remove(ctx context.Context, p, id string, was *Entry) error {
	dir, err := t.dir(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	name, temp := path.Base(p), tempName(id)
	if was.Kind == Directory {
		return removeDirectory(dir, name)
	}
	if err := dir.Rename(name, temp); err != nil {
		return err
	}
	changed := stillIs(ctx, dir, temp, was)
	if changed == nil {
		return dir.Remove(temp)
	}
	if err := takeFree(dir, temp, name); err != nil {
		return fmt.Errorf("%w; the file that was there is %s now: %w", changed, temp, err)
	}
	return changed
}

// removeDirectory removes an empty directory, and never a file that is in its place.
func removeDirectory(dir *os.Root, name string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Unlinkat(int(f.Fd()), name, unix.AT_REMOVEDIR)
}

// unlink removes a temporary file.
func (t target) unlink(p string) error {
	dir, err := t.dir(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(path.Base(p))
}

// flush makes sure that the names of a directory outlast a loss of power. A directory that is gone has none.
func (t target) flush(p string) error {
	dir, err := t.dir(p)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return flush(dir)
}

func flush(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // not every file system can
		err = nil
	}
	return errors.Join(err, f.Close())
}
