package images

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// whiteout removes entries that lower layers have brought, never entries of this layer.
func (u *unpacker) whiteout(parent, base string) error {
	gone := strings.TrimPrefix(base, whiteout)
	if base != opaque && (gone == "" || gone == "." || gone == "..") {
		return problem(Malformed, "a layer has the invalid whiteout %s", quoted(path.Join(parent, base)))
	}
	if err := u.at.enter(parent, false); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if base == opaque {
		return u.hide(u.at.full(""))
	}
	return u.purge(u.at.dir(), gone, u.at.full(gone))
}

// hide removes everything that lower layers have brought into the walker's directory. From then on only this layer adds
// entries there, so a second call has nothing to do.
func (u *unpacker) hide(full string) error {
	if u.opaque[full] {
		return nil
	}
	if err := u.purgeAll(u.at.dir(), full); err != nil {
		return err
	}
	u.opaque[full] = true
	return u.keep(full)
}

// purge removes a file or a tree, except the entries that this layer has brought.
func (u *unpacker) purge(in *os.Root, name, full string) error {
	if err := u.work.spend(1); err != nil {
		return err
	}
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
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := u.purge(dir, name, path.Join(full, name)); err != nil {
			return err
		}
	}
	return nil
}
