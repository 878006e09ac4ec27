package images

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// whiteout removes what lower layers have brought, never what this one has.
func (u *unpacker) whiteout(parent, base string) error {
	gone := strings.TrimPrefix(base, whiteout)
	if base != opaque && (gone == "" || gone == "." || gone == "..") {
		return problem(Malformed, "a layer takes %s away", quoted(path.Join(parent, base)))
	}
	if err := u.at.enter(parent, false); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if base == opaque {
		return u.purgeAll(u.at.dir(), u.at.full(""))
	}
	return u.purge(u.at.dir(), gone, u.at.full(gone))
}

// purge removes a file or a tree, but not what this layer has brought.
func (u *unpacker) purge(in *os.Root, name, full string) error {
	info, err := in.Lstat(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return hostile(err, full)
	}
	_, mine := u.mine[full]
	if info.IsDir() {
		down, err := in.OpenRoot(name)
		if err != nil {
			return err
		}
		defer down.Close()
		if err := u.purgeAll(down, full); err != nil {
			return err
		}
	}
	if mine {
		return nil
	}
	if err := in.Remove(name); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

func (u *unpacker) purgeAll(dir *os.Root, full string) error {
	opened, err := dir.Open(".")
	if err != nil {
		return err
	}
	names, err := opened.Readdirnames(-1)
	opened.Close()
	for _, name := range names {
		err = errors.Join(err, u.purge(dir, name, path.Join(full, name)))
	}
	return err
}
