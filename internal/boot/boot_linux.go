package boot

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootID returns the kernel's own name for this boot, or "" if the kernel does not tell it.
var bootID = sync.OnceValue(func() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
})

// Up returns the time since the boot.
func Up() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic("the kernel has no CLOCK_BOOTTIME: " + err.Error()) // every Linux since 2.6.39 has it, and so has gVisor
	}
	return time.Duration(now.Nano())
}
