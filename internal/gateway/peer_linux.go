package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// soPeerPIDFD is SO_PEERPIDFD (Linux 6.5), which gives a handle of the process that connected.
const soPeerPIDFD = 77

var errNoPeer = errors.New("the process at the other end cannot be seen from here")

// inGroup reports whether the process that connected is in a control group, or below it. The kernel may give a process
// number to a new process. So if the kernel offers a handle, inGroup checks afterwards that the process still lives.
func inGroup(conn *net.UnixConn, group string) (bool, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var cred *unix.Ucred
	handle := -1
	ctrl := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if n, none := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, soPeerPIDFD); none == nil {
			handle = n
		}
	})
	if handle >= 0 {
		defer unix.Close(handle)
	}
	if err := errors.Join(ctrl, err); err != nil {
		return false, err
	}
	if cred.Pid <= 0 {
		return false, errNoPeer
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", cred.Pid))
	if err != nil {
		return false, fmt.Errorf("%w: %w", errNoPeer, err)
	}
	if handle >= 0 && hasEnded(handle) {
		return false, fmt.Errorf("%w: it has ended", errNoPeer)
	}
	return listsGroup(string(groups), group), nil
}

// hasEnded reports whether the process of a handle has ended. Sending signal 0 would tell this too, but only for our
// own user's processes.
func hasEnded(handle int) bool {
	polls := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(polls, 0)
		if !errors.Is(err, unix.EINTR) {
			return n != 0 || err != nil
		}
	}
}
