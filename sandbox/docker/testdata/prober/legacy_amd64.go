package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// legacy are the ways that only the older names of amd64 have.
func legacy() map[string]probe {
	return map[string]probe{
		"iopl":            call(unix.SYS_IOPL, 4),
		"ioperm":          call(unix.SYS_IOPERM, 0, wrong),
		"modify_ldt":      call(unix.SYS_MODIFY_LDT, wrong),
		"uselib":          call(unix.SYS_USELIB),
		"old chmod":       named(unix.SYS_CHMOD, 1, 0o4755),
		"old open":        named(unix.SYS_OPEN, 2, 0o4755),
		"old creat":       named(unix.SYS_CREAT, 1, 0o2755),
		"old mknod":       named(unix.SYS_MKNOD, 1, unix.S_IFREG|0o4755),
		"allowed: chmod0": named(unix.SYS_CHMOD, 1, 0o755),
		"allowed: open":   named(unix.SYS_OPEN, 2, 0o755),
		"allowed: creat":  named(unix.SYS_CREAT, 1, 0o755),
		"allowed: mkdir":  call(unix.SYS_MKDIR, 1),
	}
}

// named calls with the name of a file and a mode as the argument at a place; open also gets its flags.
func named(number uintptr, place int, mode uintptr) probe {
	return func(dir string) error {
		file := dir + "/old"
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
