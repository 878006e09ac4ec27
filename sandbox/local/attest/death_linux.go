package attest

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Death tells when a process has ended, through a handle (pidfd).
type Death struct{ process *os.File }

// Death returns a handle on the process that has the number now. If the caller can still read from the Process after
// this call, both are the same process.
func (p *Process) Death() (*Death, error) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return nil, p.explain("pidfd", err)
	}
	return &Death{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Close closes the handle. It does nothing for a nil Death.
func (d *Death) Close() error {
	if d == nil {
		return nil
	}
	return d.process.Close()
}

// Await looks each deathLook whether its caller still waits.
const deathLook = 100 * time.Millisecond

// Await waits for the end of a process until ctx is done, and reports whether it has ended. A process 1 ends after all
// other processes of its namespace.
func (d *Death) Await(ctx context.Context) bool {
	conn, err := d.process.SyscallConn()
	if err != nil {
		return false
	}
	dead := false
	for !dead && ctx.Err() == nil {
		err := conn.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, int(deathLook.Milliseconds()))
			dead = err == nil && n > 0 && poll[0].Revents&unix.POLLIN != 0
		})
		if err != nil { // the handle was closed
			return false
		}
	}
	return dead
}
