package attest

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Death tells when a process has ended, by a handle of it (pidfd).
type Death struct{ process *os.File }

// Death returns a handle of the process that has the number now. Reading from the Process after this call proves that both
// are the same.
func (p *Process) Death() (*Death, error) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return nil, p.explain("pidfd", err)
	}
	return &Death{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Close closes the handle. A nil Death has none.
func (d *Death) Close() error {
	if d == nil {
		return nil
	}
	return d.process.Close()
}

// deathTime is how long a process may take to end after its last output. deathLook is how often we check whether a caller
// still waits.
const (
	deathTime = 2 * time.Second
	deathLook = 100 * time.Millisecond
)

// Await waits for the end of a process that is about to end, and says whether it has. A process 1 ends after all others of its
// namespace.
func (d *Death) Await(ctx context.Context) bool {
	conn, err := d.process.SyscallConn()
	if err != nil {
		return false
	}
	dead := false
	for range int(deathTime / deathLook) {
		if ctx.Err() != nil || dead {
			break
		}
		err := conn.Control(func(fd uintptr) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, int(deathLook.Milliseconds()))
			dead = err == nil && n > 0 && poll[0].Revents&unix.POLLIN != 0
		})
		if err != nil { // it was closed
			return false
		}
	}
	return dead
}
