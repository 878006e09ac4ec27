package patch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"torno/internal/beneath"
)

// target is a directory of the parent's that is written to, by handle, through no link, and onto no other file system.
type target struct {
	root *os.Root
	own  Own
	seams
}

// errOwn says that a path leads into a directory of Torno's, such as the outbox. A child that wrote there would make
// requests in the parent's name.
var errOwn = errors.New("it lies in the outbox, or in one of the client's own directories")

// errOtherSystem says that a path leads onto another file system.
var errOtherSystem = errors.New("it is on another file system")

// dir opens a directory below the target.
func (t target) dir(p string) (*os.Root, error) {
	whole, err := t.root.Stat(".")
	if err != nil {
		return nil, err
	}
	return beneath.DirThrough(t.root, p, func(info os.FileInfo) error { return t.allows(whole, info) })
}

// allows returns why nothing may be written in a directory, or nil.
func (t target) allows(whole, dir os.FileInfo) error {
	switch {
	case t.own.has(dir):
		return errOwn
	case deviceOf(dir) != deviceOf(whole):
		return errOtherSystem
	}
	return nil
}

// errThere says that a name that should be free is taken.
var errThere = errors.New("something is already at its place")

// mkdir makes a directory, unless it exists.
func (t target) mkdir(p string) error {
	dir, err := t.dir(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Mkdir(path.Base(p), 0o777); !errors.Is(err, fs.ErrExist) {
		return err
	}
	made, err := beneath.Step(dir, path.Base(p))
	if err != nil {
		return err
	}
	return made.Close()
}

// mkdirAll makes a directory and those above it, unless they were made before.
func (t target) mkdirAll(p string, made map[string]bool) error {
	if p == "." || made[p] {
		return nil
	}
	err := t.mkdirAll(path.Dir(p), made)
	if err == nil {
		err = t.mkdir(p)
	}
	made[p] = err == nil
	return err
}

// isAbsent reports whether an error means that there is nothing, or no directory that could hold it.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrNotDirectory)
}

// link makes a symbolic link.
func (t target) link(ctx context.Context, p, to, id string, over over) error {
	pl, err := t.place(p, id)
	if err != nil {
		return err
	}
	defer pl.Close()
	name := pl.name
	if over.was != nil {
		name = pl.staged
	}
	if err := pl.Symlink(to, name); errors.Is(err, fs.ErrExist) {
		return errThere
	} else if err != nil || over.was == nil {
		return err
	}
	return pl.settle(ctx, over)
}

// write writes a file beside its place and then puts it there whole. A replaced file passes on its mode and its owner;
// only the right to execute is set anew. While such a file is being written, only its owner can read it.
func (t target) write(ctx context.Context, p string, from io.Reader, exec bool, id string, over over) (err error) {
	pl, err := t.place(p, id)
	if err != nil {
		return err
	}
	defer pl.Close()
	replaces := over.any || over.was != nil
	f, err := pl.OpenFile(pl.staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, firstMode(exec, replaces))
	if err != nil {
		return err
	}
	pl.step()
	_, err = io.Copy(f, interruptible{ctx, from})
	if err == nil && replaces {
		err = keepMode(pl.Root, pl.name, f, exec)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, pl.Remove(pl.staged))
	}
	return pl.settle(ctx, over)
}

// firstMode returns the mode of a file while it is written.
func firstMode(exec, replaces bool) os.FileMode {
	switch {
	case replaces:
		return 0o600
	case exec:
		return 0o777
	}
	return 0o666
}

// keepMode gives a file the owner and the mode of the file that it will replace. If the old group cannot be set, the
// file's own group gets no rights.
func keepMode(dir *os.Root, name string, f *os.File, exec bool) error {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return f.Chmod(firstMode(exec, false) &^ 0o022)
	}
	if err != nil {
		return err
	}
	perm := execMode(info, exec)
	if uid, gid := ownerOf(info); f.Chown(uid, gid) != nil && f.Chown(-1, gid) != nil {
		perm &^= 0o070
	}
	return f.Chmod(perm)
}

func ownerOf(info os.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

// execMode returns the mode of a file that everybody who may read it may also execute, or that nobody may execute.
func execMode(info os.FileInfo, exec bool) os.FileMode {
	perm := info.Mode().Perm() &^ 0o111
	if exec {
		perm |= perm & 0o444 >> 2
	}
	return perm
}

// setExec changes only whether a file can be executed.
func (t target) setExec(p string, exec bool) error {
	dir, err := t.dir(path.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, info, err := beneath.Open(dir, path.Base(p), beneath.CheckRegular)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(execMode(info, exec)), f.Sync(), f.Close())
}
