package patch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"torno/internal/beneath"
)

// look returns the entry at a path, and follows no link: below a link or a file it finds nothing. If nothing may be
// written there, the error is errOwn or errOtherSystem.
func (t target) look(ctx context.Context, p string) (*Entry, error) {
	whole, err := t.root.Stat(".")
	if err != nil {
		return nil, err
	}
	return t.lookWith(p, func(info os.FileInfo) error { return t.allows(whole, info) },
		func(dir *os.Root, e *Entry) error { return digest(ctx, dir, path.Base(p), e) })
}

// glance returns the same entry as look, but without the content of a file, and it does not check where the path leads.
func (t target) glance(p string) (*Entry, error) {
	return t.lookWith(p, func(os.FileInfo) error { return nil }, func(*os.Root, *Entry) error { return nil })
}

func (t target) lookWith(p string, check func(os.FileInfo) error, read func(*os.Root, *Entry) error) (*Entry, error) {
	dir, err := beneath.DirThrough(t.root, path.Dir(p), check)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(path.Base(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if err := check(info); err != nil {
			return nil, err
		}
	}
	e, err := entryOf(dir, path.Base(p), info, func(e *Entry) error { return read(dir, e) })
	e.Path = p
	return e, err
}

// entryOf returns the entry that a directory has under a name.
func entryOf(dir *os.Root, name string, info os.FileInfo, read func(*Entry) error) (*Entry, error) {
	e := &Entry{Path: name, Kind: Other}
	var err error
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.Kind = Directory
	case mode&os.ModeSymlink != 0:
		e.Kind = Link
		e.Target, err = dir.Readlink(name)
	case mode.IsRegular():
		e.Kind, e.Exec = File, mode&0o111 != 0
		err = read(e)
	}
	return e, err
}

func digest(ctx context.Context, dir *os.Root, name string, e *Entry) error {
	f, _, err := beneath.Open(dir, name, beneath.CheckRegular)
	if err != nil {
		return err
	}
	defer f.Close()
	e.Digest, e.Size, err = pour(ctx, io.Discard, f, lookLimits.Bytes)
	return err
}

// text reads a short file and reports whether it is text.
func (t target) text(p string) ([]byte, bool, error) {
	dir, err := beneath.Dir(t.root, path.Dir(p))
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	f, _, err := beneath.Open(dir, path.Base(p), beneath.CheckRegular)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, more, err := beneath.ReadUpTo(f, maxText)
	return data, !more && isText(data), err
}

// names returns the names in a directory, and nothing if there is no directory.
func (t target) names(p string) ([]string, error) {
	dir, err := beneath.Dir(t.root, p)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
