package mounts

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// errRenamed says that a directory above a source was renamed during the search.
var errRenamed = errors.New("a directory above it was renamed meanwhile, or a mount covers it; ask again")

// Above lists the pinned directory and each directory above it by device and inode, the innermost first. So two sources
// are equal or nested exactly if one of them is in the other's list, whatever their paths say:
//
//   - A source lies in the mount of its base (Pin makes sure of that), and ".." leads from it to the root of this
//     mount. A rename changes names but not identities.
//   - If that mount is a bind mount, there are directories above its root too, which ".." does not reach. Another
//     source can be such a directory only if it lies beneath a base in another mount of the same file system. So Above
//     checks each such base that holds the mount's root according to /proc/self/mountinfo: it opens the way from the
//     base down to the root, proves that the way ends there, and climbs back.
//
// The work is bounded by the depth of a path and by the number of bases; the table of mounts is read only if two bases
// are in different mounts of one file system. Above cannot see through a file system that shows another file system's
// directories under its own numbers (see spot).
func (b *Bases) Above(pin *Pin) ([]sandbox.Directory, error) {
	above, err := climb(int(pin.file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("find the directories above %q beneath %q: %w", pin.Source.Rel, pin.Source.Base, err)
	}
	beyond, err := b.beyond(pin.Source.Base, above[len(above)-1])
	if err != nil {
		return nil, fmt.Errorf("find the directories above the mount of %q: %w", pin.Source.Base, err)
	}
	return append(above, beyond...), nil
}

// climb lists a directory and each one above it in the same mount.
func climb(from int) (above []sandbox.Directory, err error) {
	at, err := unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	defer func() { unix.Close(at) }()
	for len(above) <= maxPath {
		here, err := directoryOf(at)
		if err != nil {
			return nil, err
		}
		if len(above) > 0 && above[len(above)-1] == here {
			return above, nil // the root of all
		}
		above = append(above, here)
		next, err := lookup(at, "..", unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_XDEV)
		if errors.Is(err, unix.EXDEV) {
			return above, nil // the root of the mount
		}
		if err != nil {
			return nil, os.NewSyscallError("openat2", err)
		}
		unix.Close(at)
		at = next
	}
	return nil, unix.ENAMETOOLONG
}

func directoryOf(fd int) (sandbox.Directory, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return sandbox.Directory{Device: st.Dev, Inode: st.Ino}, os.NewSyscallError("fstat", err)
}

// beyond lists the directories above the root of a base's mount, as far as sources beneath other bases can be these
// directories.
func (b *Bases) beyond(base string, root sandbox.Directory) (above []sandbox.Directory, err error) {
	v, err := b.look()
	if err != nil {
		return nil, err
	}
	defer v.release()
	own := v.held[base]
	if own == nil || !v.sharesFileSystem(own) {
		return nil, nil
	}
	infos, err := readMountInfo()
	if err != nil {
		return nil, err
	}
	for _, name := range v.paths() {
		other := v.held[name]
		way, err := other.wayTo(own, infos)
		if err != nil {
			return nil, err
		}
		if way == "" {
			continue
		}
		more, err := other.climbFrom(way, root)
		if err != nil {
			return nil, err
		}
		above = append(above, more...)
	}
	return above, nil
}

// sharesFileSystem reports whether another base lies in another mount of the same file system.
func (v *snapshot) sharesFileSystem(own *anchor) bool {
	for _, other := range v.held {
		if other.device == own.device && other.mountID() != own.mountID() {
			return true
		}
	}
	return false
}

func (a *anchor) mountID() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mount.id
}

// wayTo returns the path from a base down to the root of another base's mount, or "" if that root does not lie in the
// base.
func (a *anchor) wayTo(inner *anchor, infos map[uint64]mountInfo) (string, error) {
	here, ok := infos[a.mountID()]
	there, found := infos[inner.mountID()]
	if !ok || !found {
		return "", errDetached
	}
	if here.id == there.id || here.device != there.device {
		return "", nil
	}
	name, err := pathOf(int(a.file.Fd()))
	if err != nil {
		return "", err
	}
	rel, ok := beneathPath(here.point, name)
	if !ok {
		return "", errDetached
	}
	way, inside := beneathPath(path.Join(here.root, rel), there.root)
	if !inside {
		return "", nil
	}
	return way, nil
}

// climbFrom follows a path from a base to the directory end, and returns the directories above end. The last step of
// the path may enter a mount: a directory that is bound onto itself is still the same directory.
func (a *anchor) climbFrom(way string, end sandbox.Directory) ([]sandbox.Directory, error) {
	parent, err := lookup(int(a.file.Fd()), path.Dir(way), unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, errors.Join(errRenamed, err)
	}
	defer unix.Close(parent)
	var st unix.Stat_t
	if err := unix.Fstatat(parent, path.Base(way), &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); err != nil {
		return nil, errors.Join(errRenamed, err)
	}
	if (sandbox.Directory{Device: st.Dev, Inode: st.Ino}) != end {
		return nil, errRenamed
	}
	return climb(parent)
}
