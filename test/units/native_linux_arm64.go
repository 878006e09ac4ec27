package units

import "golang.org/x/sys/unix"

const native = unix.AUDIT_ARCH_AARCH64

// olderModes are calls that this machine does not have.
var olderModes []modeCall
