//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// mounts holds handles on the run file's mounts, in its order. Init has proved for each, as far as it can, that it is
// the mount that the host pinned.
type mounts []int

// proveMounts opens every mount and compares it with the pinned one.
func proveMounts(expected []runfile.Mount) (mounts, error) {
	var proved mounts
	for _, m := range expected {
		fd, err := openPath(m.Path)
		if err == nil {
			proved = append(proved, fd)
			err = prove(fd, m)
		}
		if err != nil {
			proved.Close()
			return nil, refuse(runfile.FailureMount, "mount %q: %w", m.Path, err)
		}
	}
	return proved, nil
}

func prove(fd int, m runfile.Mount) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return errors.New("is a link")
	}
	if dev := uint64(stat.Dev); !m.Unnumbered && (dev != m.Device || stat.Ino != m.Inode) { // narrower on some processors
		return fmt.Errorf("is device %d inode %d, and the host pinned device %d inode %d", dev, stat.Ino, m.Device, m.Inode)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	return proveFlags(int64(fs.Flags), m)
}

func proveFlags(flags int64, m runfile.Mount) error {
	switch readOnly := flags&unix.ST_RDONLY != 0; {
	case m.Writable && readOnly:
		return errors.New("is read-only and should be writable")
	case !m.Writable && !readOnly && !m.Unnumbered: // the host has proved that for an unnumbered mount
		return errors.New("is writable and should be read-only")
	case m.Hardened && flags&(unix.ST_NOSUID|unix.ST_NODEV) != unix.ST_NOSUID|unix.ST_NODEV:
		return errors.New("is not nosuid and nodev")
	}
	return nil
}

// enter makes the run's directory the current one. It goes through the proved handle that holds the directory.
func (m mounts) enter(f runfile.File) error {
	dir, err := m.openDir(f, f.Dir)
	if err == nil {
		err = unix.Fchdir(dir)
		unix.Close(dir)
	}
	if err != nil {
		return refuse(runfile.FailureSetup, "directory %q: %w", f.Dir, err)
	}
	return nil
}

// openDir opens a directory of the sandbox from the innermost mount that holds it, or else from the root.
func (m mounts) openDir(f runfile.File, name string) (int, error) {
	if i := f.MountOf(name); i >= 0 {
		return openDir(m[i], below(f.Mounts[i].Path, name), false)
	}
	root, err := openRoot()
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openDir(root, below("/", name), false)
}

// answer returns the place of the answer file, relative to a new handle on the mount that holds it.
func (m mounts) answer(f runfile.File) (*answer, error) {
	i := f.MountOf(f.Answer.Path) // Validate has found a writable mount
	root, err := openDir(m[i], ".", false)
	if err != nil {
		return nil, refuse(runfile.FailureSetup, "answer %q: %w", f.Answer.Path, err)
	}
	rel := below(f.Mounts[i].Path, f.Answer.Path)
	return &answer{path: f.Answer.Path, root: root, dir: path.Dir(rel), name: path.Base(rel)}, nil
}

func (m mounts) Close() {
	for _, fd := range m {
		unix.Close(fd)
	}
}
