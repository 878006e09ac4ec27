package inside

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Leave tries in every way to leave something in a directory that the host should not find there, and takes nothing back.
// The host looks at what came of it: what a kernel of a child's own says of that would prove nothing.
func Leave(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, p := range setIDProbes() {
		if err := os.Mkdir(at(p.name), 0o755); err != nil {
			return err
		}
	}
	for name, mode := range setIDModes {
		for way, make := range ways {
			_ = make(at(way+" "+name+"/made"), 0o755|mode) // what it says is not believed
		}
	}
	_ = unix.Mkdir(at("directory"), 0o2755)
	_ = unix.Chmod(at("directory"), 0o2755)
	_ = unix.Mknod(at("character device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
	_ = unix.Mknod(at("block device"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	_ = unix.Mknod(at("whiteout"), unix.S_IFCHR, int(unix.Mkdev(0, 0)))
	_ = leaveWhiteout(at("whiteout by renaming"), at("renamed"))
	for name, change := range map[string]func(fd int) error{
		"root's":     func(fd int) error { return unix.Fchown(fd, 0, 0) },
		"capability": func(fd int) error { return unix.Fsetxattr(fd, "security.capability", capability, 0) },
		"trusted":    func(fd int) error { return unix.Fsetxattr(fd, "trusted.torno", capability, 0) },
		"user's":     func(fd int) error { return unix.Fsetxattr(fd, "user.torno", capability, 0) },
		"opaque":     func(fd int) error { return unix.Fsetxattr(fd, "user.overlay.opaque", []byte("y"), 0) },
		"shared":     shareWith,
		"overlay":    func(fd int) error { return unix.Fsetxattr(fd, "trusted.overlay.opaque", []byte("y"), 0) },
		"no dump":    func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, unix.STATX_ATTR_NODUMP) },
	} {
		_ = afterwards(at(name), change)
	}
	return nil
}
