package mounts

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// Pin is an open directory or regular file. It stays the same one, whatever happens to its name.
type Pin struct {
	Source   sandbox.Source
	Dev, Ino uint64 // init compares them
	Dir      bool   // true for a directory; otherwise it is a regular file with one name
	UID, GID uint32

	file *os.File
}

func newPin(src sandbox.Source, fd int) (*Pin, error) {
	file := os.NewFile(uintptr(fd), src.Rel)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		file.Close()
		return nil, fmt.Errorf("look at %q beneath %q: %w", src.Rel, src.Base, err)
	}
	if kind := kindOfFile(&st); kind != "" {
		file.Close()
		refused := &PathError{Source: src, Kind: kind}
		if src.Rel == "." {
			refused.Err = ErrRootGone // nothing else can be wrong with a root
		}
		return nil, refused
	}
	return &Pin{
		Source: src, Dev: st.Dev, Ino: st.Ino, Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR,
		UID: st.Uid, GID: st.Gid, file: file,
	}, nil
}

// kindOfFile returns why a file cannot be a source, or "". A regular file with two names is refused, because its other
// name may be anywhere.
func kindOfFile(st *unix.Stat_t) Kind {
	kind := st.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFLNK:
		return KindLink
	case kind != unix.S_IFDIR && kind != unix.S_IFREG:
		return KindSpecial
	case st.Nlink == 0:
		return KindMissing
	case kind == unix.S_IFREG && st.Nlink > 1:
		return KindLink
	}
	return ""
}

// Owner returns the owner of the pinned directory or file.
func (p *Pin) Owner() Identity { return Identity{UID: p.UID, GID: p.GID} }

// File returns the handle, opened with O_PATH. It belongs to the Pin.
func (p *Pin) File() *os.File { return p.file }

// HerePath returns the present path of the pinned directory or file, for an engine that accepts only a path. The file
// may move again before the engine looks: only init's comparison of Dev and Ino makes sure.
func (p *Pin) HerePath() (string, error) {
	path, err := pathOf(int(p.file.Fd()))
	if err != nil {
		return "", fmt.Errorf("find where %q beneath %q is: %w", p.Source.Rel, p.Source.Base, err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Dev != p.Dev || st.Ino != p.Ino {
		return "", &PathError{Source: p.Source, Kind: KindMissing, Err: err}
	}
	return path, nil
}

// Close closes the handle. Clones that were made earlier stay valid.
func (p *Pin) Close() error { return p.file.Close() }

// Clone makes a mount of the pinned directory or file, without the mounts below it. The new mount is attached nowhere.
func (p *Pin) Clone(o CloneOptions) (*Detached, error) {
	defer runtime.KeepAlive(o.IDMap)
	attr := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Propagation: unix.MS_PRIVATE, // mounts that appear below the source later stay outside too
	}
	if o.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if o.IDMap != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(o.IDMap.Fd())
	}
	tree, err := cloneTree(int(p.file.Fd()), &attr)
	if err != nil {
		return nil, fmt.Errorf("clone %q beneath %q: %w", p.Source.Rel, p.Source.Base, err)
	}
	return &Detached{Dir: p.Dir, file: tree}, nil
}

// TryIDMap returns nil if the file system of a base can be mounted with exchanged ids; some file systems cannot. It
// returns ErrRootGone if the base was removed or unmounted after it was opened: this says nothing about the file
// system.
func (b *Bases) TryIDMap(base string, maps *IDMaps) error {
	err := b.tryIDMap(base, maps)
	if err == nil || !b.isDetached(base) {
		return err
	}
	if b.reopen(base) == nil {
		return b.tryIDMap(base, maps)
	}
	return fmt.Errorf("%s was unmounted: %w", base, ErrRootGone)
}

// isDetached reports whether a base lies in no mount any more.
func (b *Bases) isDetached(path string) bool {
	base, err := b.borrow(path)
	if base == nil || err != nil {
		return false
	}
	defer base.release()
	_, err = base.spot()
	return errors.Is(err, errDetached)
}

func (b *Bases) tryIDMap(base string, maps *IDMaps) error {
	pin, err := b.pinBase(base)
	if err != nil {
		return err
	}
	defer pin.Close()
	userns, err := maps.Get(pin.Owner(), Identity{UID: noID - 1, GID: noID - 1})
	if err != nil {
		return err
	}
	defer userns.Close()
	tree, err := pin.Clone(CloneOptions{IDMap: userns})
	if err != nil {
		return err
	}
	return tree.Close()
}

// Detached is a mount that is attached nowhere yet. Close ends it, unless it was placed.
type Detached struct {
	Dir bool

	file   *os.File
	placed bool
}

// Close closes the handle. A placed mount stays where it is.
func (d *Detached) Close() error { return d.file.Close() }

// cloneTree clones only the mount at fd, and sets its attributes before any process can see it.
func cloneTree(fd int, attr *unix.MountAttr) (*os.File, error) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH
	tree, err := unix.OpenTree(fd, "", flags)
	if errors.Is(err, unix.EINVAL) && os.Geteuid() != 0 {
		return nil, fmt.Errorf("open_tree: %w", ErrBelow)
	}
	if err != nil {
		return nil, os.NewSyscallError("open_tree", err)
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, attr); err != nil {
		unix.Close(tree)
		return nil, os.NewSyscallError("mount_setattr", err)
	}
	return os.NewFile(uintptr(tree), "detached mount"), nil
}

// moveMount attaches a detached mount to the directory or file at to.
func moveMount(tree *os.File, to int) error {
	const flags = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH
	return os.NewSyscallError("move_mount", unix.MoveMount(int(tree.Fd()), "", to, "", flags))
}

// pathOf returns the kernel's path for fd.
func pathOf(fd int) (string, error) { return os.Readlink(procPath(fd)) }

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
