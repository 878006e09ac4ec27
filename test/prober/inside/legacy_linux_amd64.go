package inside

import (
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// legacyProbes are the ways that only the older names of amd64 have.
func legacyProbes() []probe {
	return []probe{
		{"C12", "iopl (amd64)", call(unix.SYS_IOPL, 4)},
		{"C12", "ioperm (amd64)", call(unix.SYS_IOPERM, 0, wrong)},
		{"C25", "modify_ldt (amd64)", call(unix.SYS_MODIFY_LDT, wrong)},
		{"C25", "uselib (amd64)", call(unix.SYS_USELIB)},
		{"C7", "kexec_file_load (amd64)", call(unix.SYS_KEXEC_FILE_LOAD, wrong, wrong, 0, 0, wrong)},
		{"C23", "old chmod (amd64)", named(unix.SYS_CHMOD, 1, 0o4755)},
		{"C23", "old open (amd64)", named(unix.SYS_OPEN, 2, 0o4755)},
		{"C23", "old creat (amd64)", named(unix.SYS_CREAT, 1, 0o2755)},
		{"C23", "old mknod (amd64)", named(unix.SYS_MKNOD, 1, unix.S_IFREG|0o4755)},
		{"C23", Allowed + "old chmod (amd64)", named(unix.SYS_CHMOD, 1, 0o755)},
		{"C23", Allowed + "old open (amd64)", named(unix.SYS_OPEN, 2, 0o755)},
		{"C23", Allowed + "old creat (amd64)", named(unix.SYS_CREAT, 1, 0o755)},
		{"C23", Allowed + "old mkdir (amd64)", call(unix.SYS_MKDIR, 1)},
	}
}

// named calls with the name of a file and a mode as the argument at a place; open also gets its flags.
func named(number uintptr, place int, mode uintptr) func(*Ground) error {
	return func(g *Ground) error {
		file := filepath.Join(g.Dir, "old")
		if number == unix.SYS_CHMOD {
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				return err
			}
		}
		defer os.Remove(file)
		name, err := unix.BytePtrFromString(file)
		if err != nil {
			return err
		}
		args := [3]uintptr{uintptr(unsafe.Pointer(name)), unix.O_CREAT | unix.O_WRONLY, 0}
		args[place] = mode
		fd, _, errno := syscall.RawSyscall(number, args[0], args[1], args[2])
		if errno != 0 {
			return errno
		}
		if number == unix.SYS_OPEN || number == unix.SYS_CREAT {
			return unix.Close(int(fd))
		}
		return nil
	}
}
