package inside

import (
	"errors"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The numbers of calls on files that x/sys does not have, and the argument of one of them.
const (
	getXFlags  = 0x801c581f // FS_IOC_FSGETXATTR
	setXFlags  = 0x401c5820 // FS_IOC_FSSETXATTR
	setVersion = 0x40087602 // FS_IOC_SETVERSION
	addKey     = 0xc0506617 // FS_IOC_ADD_ENCRYPTION_KEY
)

type xflags struct {
	flags, extent, extents, project, cow uint32
	_                                    [8]byte
}

// attributeProbes are what outlives a run and is not to be seen in a listing.
func attributeProbes() []probe {
	return []probe{
		{"C24", "an immutable file", onFile(func(fd int) error { return setFlags(fd, unix.STATX_ATTR_IMMUTABLE) })},
		{"C24", "a file that can only grow", onFile(func(fd int) error { return setFlags(fd, unix.STATX_ATTR_APPEND) })},
		{"C24", "a file that no backup takes", onFile(func(fd int) error { return setFlags(fd, unix.STATX_ATTR_NODUMP) })},
		{"C24", "a project of one's own choice", onFile(setProject)},
		{"C24", "a version of one's own choice", onFile(func(fd int) error { return onDescriptor(fd, setVersion, nil) })},
		{"C24", "a file that verity keeps from change", onFile(func(fd int) error { return onDescriptor(fd, unix.FS_IOC_ENABLE_VERITY, nil) })},
		{"C24", "an encrypted directory", onFile(func(fd int) error { return onDescriptor(fd, unix.FS_IOC_SET_ENCRYPTION_POLICY, nil) })},
		{"C24", "a key for encryption", onFile(func(fd int) error { return onDescriptor(fd, addKey, nil) })},
		{"C24", "a file of root's", onFile(func(fd int) error { return unix.Fchown(fd, 0, 0) })},
		{"C24", "a capability of a file", attribute("security.capability")},
		{"C24", "a trusted attribute", attribute("trusted.torno")},
		{"C24", "an attribute of a user's", attribute("user.torno")},
		{"C24", "an attribute that overlays obey", attribute("user.overlay.opaque")},
		{"C24", "an access list", optional(onFile(shareWith))},
		{"C24", "an attribute less", onFile(func(fd int) error { return reachedBut(unix.Fremovexattr(fd, "user.torno"), unix.ENODATA) })},
		{"C24", "a whiteout, by renaming", whiteout},
	}
}

// accessList lets user 4242 read and write a file, by an entry of its own (struct posix_acl_xattr_header and its entries).
var accessList = []byte{
	2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255, // the owner
	2, 0, 6, 0, 0x92, 0x10, 0, 0, // user 4242
	4, 0, 4, 0, 255, 255, 255, 255, // the group
	16, 0, 6, 0, 255, 255, 255, 255, // at most
	32, 0, 4, 0, 255, 255, 255, 255, // others
}

func shareWith(fd int) error { return unix.Fsetxattr(fd, "system.posix_acl_access", accessList, 0) }

// reachedBut takes an error that only the call itself can give for a yes.
func reachedBut(err, yes error) error {
	var errno syscall.Errno
	if errors.Is(err, yes) && errors.As(err, &errno) {
		return reached{errno}
	}
	return err
}

// whiteout renames a file and leaves in its place what overlays take for a sign that it is gone.
func whiteout(g *Ground) error {
	from, to := filepath.Join(g.Dir, "whiteout"), filepath.Join(g.Dir, "renamed")
	defer unix.Unlink(from)
	defer unix.Unlink(to)
	return leaveWhiteout(from, to)
}

func leaveWhiteout(from, to string) error {
	return afterwards(from, func(int) error {
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_WHITEOUT)
	})
}

// onFile tries it on a new file.
func onFile(try func(fd int) error) func(*Ground) error {
	return func(g *Ground) error {
		file := filepath.Join(g.Dir, "attributes")
		defer unix.Unlink(file)
		return afterwards(file, try)
	}
}

func onDescriptor(fd int, request uint, argument unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(argument))
	return verdictOf(errno)
}

// setFlags sets one and takes it back, so that the file can go. The flags have the numbers that statx shows.
func setFlags(fd int, flag uint32) error {
	had, _ := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS) // a kernel that does not tell may still take them
	now := uint32(had) | flag
	if err := onDescriptor(fd, unix.FS_IOC_SETFLAGS, unsafe.Pointer(&now)); err != nil {
		return err
	}
	now = uint32(had)
	return onDescriptor(fd, unix.FS_IOC_SETFLAGS, unsafe.Pointer(&now))
}

// setProject gives a file to another project, and so to another's quota. Where the file system has no projects the call
// is let through and fails after that.
func setProject(fd int) error {
	var x xflags
	_ = onDescriptor(fd, getXFlags, unsafe.Pointer(&x)) // a kernel that does not tell may still take one
	x.project++
	return onDescriptor(fd, setXFlags, unsafe.Pointer(&x))
}

// capability is a value that security.capability takes; others take any.
var capability = []byte{1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

func attribute(name string) func(*Ground) error {
	return onFile(func(fd int) error { return unix.Fsetxattr(fd, name, capability, 0) })
}
