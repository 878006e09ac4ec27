// Package pipes writes to descriptors that another program may have changed. Init and an agent's adapter share their
// standard output and standard error with the agent.
//
//	err := pipes.WriteAll(unix.Stdout, line)
package pipes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// WriteAll writes everything, even if an agent has made a descriptor that it shares with us non-blocking.
func WriteAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		switch {
		case err == nil:
			p = p[n:]
		case errors.Is(err, unix.EAGAIN):
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}
