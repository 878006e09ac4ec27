package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"torno/internal/atomicfile"

	"golang.org/x/sys/unix"
)

// over says which file may be replaced: none, only the known entry was, or any.
type over struct {
	was   *Entry
	after *Entry // the entry that replaces was
	any   bool
}

// settle gives the staged file its name. If that fails, it removes the staged file.
func (pl *place) settle(ctx context.Context, over over) error {
	pl.step()
	var err error
	switch {
	case over.was != nil:
		err = pl.swap(ctx, over)
	case over.any:
		err = pl.Rename(pl.staged, pl.name)
		if errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) {
			err = errThere // a directory
		}
	default:
		err = pl.takeFree(pl.staged)
	}
	if err == nil {
		return nil
	}
	if left := pl.Remove(pl.staged); !errors.Is(left, fs.ErrNotExist) {
		return errors.Join(err, left)
	}
	return err
}

var errNoExchange = errors.New("the file system cannot rename in that way")

// takeFree gives a file the place's name, which should be free.
func (pl *place) takeFree(from string) error {
	err := pl.renameWith(from, failing)
	if errors.Is(err, errNoExchange) {
		err = pl.linkFree(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return errThere
	}
	return err
}

// linkFree takes a free name by a hard link, which replaces nothing. On a file system without hard links it checks just
// before it renames.
func (pl *place) linkFree(from string) error {
	err := pl.Link(from, pl.name)
	if err == nil {
		pl.step()
		return pl.Remove(from)
	}
	if _, seen := pl.Lstat(pl.name); !errors.Is(seen, fs.ErrNotExist) {
		return errors.Join(err, seen, errThere)
	}
	return pl.Rename(from, pl.name)
}

// swap puts the staged file in the place of a known file. It first renames the staged file to the name out, because the
// exchange leaves the parent's file under the name that the staged file had.
func (pl *place) swap(ctx context.Context, over over) error {
	if err := pl.Rename(pl.staged, pl.out); err != nil {
		return err
	}
	pl.step()
	err := pl.exchange()
	if errors.Is(err, errNoExchange) {
		return pl.replace(ctx, over)
	}
	if err != nil {
		return errors.Join(ErrChanging, err, pl.Remove(pl.out))
	}
	pl.step()
	if err := pl.check(ctx, over); err != nil {
		return err
	}
	pl.step()
	return pl.Remove(pl.out)
}

// replace does the work of swap if names cannot be exchanged: for a moment nothing is in the place.
func (pl *place) replace(ctx context.Context, over over) error {
	if err := pl.Rename(pl.out, pl.staged); err != nil {
		return err
	}
	pl.step()
	if err := pl.takeOut(ctx, over); err != nil {
		return err
	}
	pl.step()
	if err := pl.takeFree(pl.staged); err != nil {
		return errors.Join(ErrChanging, err, pl.giveBack(ctx, over.after))
	}
	pl.step()
	return pl.Remove(pl.out)
}

// takeOut takes the known file out of its place.
func (pl *place) takeOut(ctx context.Context, over over) error {
	err := pl.Rename(pl.name, pl.out)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrChanging, err)
	}
	if err != nil {
		return err
	}
	pl.step()
	return pl.check(ctx, over)
}

// check looks at the file that was taken out. If the parent has changed it, it goes back.
func (pl *place) check(ctx context.Context, over over) error {
	if changed := stillIs(ctx, pl.Root, pl.out, over.was); changed != nil {
		return errors.Join(changed, pl.giveBack(ctx, over.after))
	}
	return nil
}

// keptError says that a file of the parent's could not go back to its place.
type keptError struct{ as string }

func (e *keptError) Error() string {
	return fmt.Sprintf("the file that was there is kept beside it as %q", e.as)
}

// giveBack puts the file that was taken out back in its place, if the place is free or holds the apply's own file.
// Otherwise the parent was faster: then the file stays under its second name, and a keptError says so.
func (pl *place) giveBack(ctx context.Context, after *Entry) error {
	kept := &keptError{pl.out}
	if err := pl.takeFree(pl.out); err == nil {
		return nil
	} else if !errors.Is(err, errThere) {
		return errors.Join(kept, err)
	}
	if stillIs(ctx, pl.Root, pl.name, after) != nil {
		return kept
	}
	pl.step()
	if pl.exchange() != nil {
		return kept
	}
	pl.step()
	if stillIs(ctx, pl.Root, pl.out, after) != nil { // saved between the look and the exchange
		return kept
	}
	return pl.Remove(pl.out)
}

// stillIs fails if an entry differs from the known one. It finishes even if the apply is cancelled, because an
// interrupted look would take a known file for the parent's.
func stillIs(ctx context.Context, dir *os.Root, name string, was *Entry) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return errors.Join(ErrChanging, err)
	}
	ctx = context.WithoutCancel(ctx)
	now, err := entryOf(dir, name, info, func(e *Entry) error { return digest(ctx, dir, name, e) })
	if err != nil {
		return err
	}
	if !same(now, was) {
		return fmt.Errorf("%w: it was changed while the new file was written", ErrChanging)
	}
	return nil
}

// remove removes a known entry. If it is a directory, it must be empty. A file or a link is first taken out and
// compared.
func (t target) remove(ctx context.Context, p, id string, was *Entry) error {
	pl, err := t.place(p, id)
	if err != nil {
		return err
	}
	defer pl.Close()
	if was.Kind == Directory {
		return removeDirectory(pl.Root, pl.name)
	}
	pl.step()
	if err := pl.takeOut(ctx, over{was: was}); err != nil {
		return err
	}
	pl.step()
	return pl.Remove(pl.out)
}

// removeDirectory removes an empty directory, and never a file in its place.
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

// flush makes sure that the names in a directory survive a loss of power. A directory that is gone has no names.
func (t target) flush(p string) error {
	dir, err := t.dir(p)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return atomicfile.SyncRoot(dir)
}
