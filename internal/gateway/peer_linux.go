package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// soPeerPIDFD is SO_PEERPIDFD, Linux 6.5: a handle of the process that connected.
const soPeerPIDFD = 77

var errNoPeer = errors.New("the process at the other end cannot be seen from here")

// inGroup says whether the process that connected is in a control group, or below it. A number of a process can be given
// to another one, so where the kernel gives a handle, the process must still be there after the look.
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

// hasEnded asks a process's handle. To send it no signal would ask too, but only of processes of our own user.
func hasEnded(handle int) bool {
	polls := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(polls, 0)
		if !errors.Is(err, unix.EINTR) {
			return n != 0 || err != nil
		}
	}
}
