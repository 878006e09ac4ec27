//go:build linux

package initproc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// connection joins one connection of the agent's with one of the host's. Bytes from one end are written at the other, and
// so is the end of the input.
type connection struct{ ends [2]end }

// end is one end, with what was read there and not yet written at the other.
type end struct {
	fd      int
	buffer  []byte
	pending []byte // of buffer
	read    bool   // there is no more to be read
	told    bool   // the other end was told so
	hung    bool   // its owner has closed it; what was written before can still be read
}

func newConnection(agent, host int) *connection {
	c := &connection{}
	for i, fd := range []int{agent, host} {
		c.ends[i] = end{fd: fd, buffer: make([]byte, doorBuffer)}
	}
	return c
}

// over closes a connection that has nothing more to do: both ends have sent everything, or an end that has sent everything
// is closed, so that nothing reads there.
func (c *connection) over() bool {
	done := false
	for side := range c.ends {
		e, other := &c.ends[side], &c.ends[1-side]
		done = done || e.told && (other.told || e.hung)
	}
	if done {
		unix.Close(c.ends[0].fd)
		unix.Close(c.ends[1].fd)
	}
	return done
}

// events returns the events to wait for at an end, and whether to wait there at all. The kernel reports a closed end for
// ever, so we do not wait at a closed end while its data cannot be taken.
func (c *connection) events(side int) (events int16, wait bool) {
	e, other := &c.ends[side], &c.ends[1-side]
	canRead := !e.read && len(e.pending) == 0
	if canRead {
		events |= unix.POLLIN
	}
	if len(other.pending) > 0 && !e.hung {
		events |= unix.POLLOUT
	}
	return events, canRead || !e.hung
}

// progress does what an end is ready for.
func (c *connection) progress(side int, got int16) {
	e, other := &c.ends[side], &c.ends[1-side]
	e.hung = e.hung || got&(unix.POLLERR|unix.POLLHUP) != 0
	if len(other.pending) > 0 && (e.hung || got&unix.POLLOUT != 0) {
		c.write(side)
	}
	if !e.read && len(e.pending) == 0 && (e.hung || got&unix.POLLIN != 0) {
		c.take(side)
	}
}

// take reads at an end, and writes at the other at once what goes.
func (c *connection) take(side int) {
	e := &c.ends[side]
	n, err := unix.Read(e.fd, e.buffer)
	switch {
	case n > 0:
		e.pending = e.buffer[:n]
		c.write(1 - side)
	case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR): // the end, or as good as that
		e.read = true
		c.tell(side)
	}
}

// write writes at an end what was read at the other. When the end takes nothing any more, its bytes are dropped and no more
// are read for it.
func (c *connection) write(side int) {
	from := &c.ends[1-side]
	n, err := unix.SendmsgN(c.ends[side].fd, from.pending, nil, nil, unix.MSG_NOSIGNAL)
	switch {
	case err == nil:
		from.pending = from.pending[n:]
	case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
		from.pending, from.read = nil, true
		_ = unix.Shutdown(from.fd, unix.SHUT_RD) // so that its owner learns it
	}
	c.tell(1 - side)
}

// tell passes the end of one end's input on to the other, once everything before it is written.
func (c *connection) tell(side int) {
	e := &c.ends[side]
	if e.read && len(e.pending) == 0 && !e.told {
		_ = unix.Shutdown(c.ends[1-side].fd, unix.SHUT_WR) // an end that is closed needs no word
		e.told = true
	}
}
