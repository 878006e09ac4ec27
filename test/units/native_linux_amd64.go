package units

import "golang.org/x/sys/unix"

const native = unix.AUDIT_ARCH_X86_64

// olderModes are calls that newer machines do not have.
var olderModes = []modeCall{
	{unix.SYS_CHMOD, 1}, {unix.SYS_MKDIR, 1}, {unix.SYS_MKNOD, 1}, {unix.SYS_CREAT, 1},
}
