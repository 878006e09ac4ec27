//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// socketsABI is the version of Landlock that knows sockets with names in the file system: Linux 7.1.
const socketsABI = 9

// errCannotShut says that this kernel cannot keep a process from the sockets of others.
var errCannotShut = errors.New("the kernel cannot restrict sockets with Landlock: this needs Linux 7.1, with landlock among its security modules")

// shutSockets makes the kernel refuse sockets to this process and to everything that it starts. It refuses every socket
// in the file system that a process outside of the sandbox has made, except at and below the given handles. Mounts
// cannot do that, not even read-only ones, and a filter of system calls sees no path. The sandbox's own sockets stay
// open, wherever they lie.
func shutSockets(open []int) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < socketsABI {
		return errCannotShut
	}
	// Every ruleset refuses to move files between directories, unless it names that right (REFER) and grants it.
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX | unix.LANDLOCK_ACCESS_FS_REFER}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(set))
	root, err := openRoot()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	errs := []error{allow(int(set), root, unix.LANDLOCK_ACCESS_FS_REFER)}
	for _, fd := range open {
		errs = append(errs, allow(int(set), fd, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// Restrict all threads: each of them may be the one that starts the agent.
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// allow grants a right at a handle and below it. The kernel's structure is packed, and Go's type for it is longer. That
// does no harm, because the kernel is told no size.
func allow(set, at int, right uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: right, Parent_fd: int32(at)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// shut calls shutSockets with the profile's sockets left open, if the run file demands it.
func (m mounts) shut(f runfile.File) error {
	if !f.Shut {
		return nil
	}
	var open []int
	for i, mount := range f.Mounts {
		if mount.Sockets {
			open = append(open, m[i])
		}
	}
	if err := shutSockets(open); err != nil {
		return refuse(runfile.FailureSetup, "keep the agent from the sockets of others: %w", err)
	}
	return nil
}

// tryShut runs as the agent of a launcher's trial. It shuts sockets as init does under a run file with Shut, and then
// tries to connect to a socket. The exit code is 0 if the kernel can refuse that. If an engine runs in a virtual
// machine of its own, its kernel says that nothing listens at the host's socket; so every refusal counts.
func tryShut(name string) int {
	err := shutSockets(nil)
	switch {
	case errors.Is(err, errCannotShut):
		return runfile.CannotShut
	case err != nil:
		warn("%v", err)
		return 1
	}
	if connect("unix:"+name) == nil {
		warn("a socket can be reached, although the kernel should refuse it")
		return 1
	}
	return 0
}
