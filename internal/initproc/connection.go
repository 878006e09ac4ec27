//go:build linux

package initproc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// connection joins a connection of the agent with a connection of the host. It copies bytes from each end to the other,
// and passes on the end of the input.
type connection struct{ ends [2]end }

// end is one end of a connection, with the bytes that were read there and not yet written at the other end.
type end struct {
	fd      int
	buffer  []byte
	pending []byte // of buffer
	read    bool   // nothing more can be read here
	told    bool   // the other end was told so
	hung    bool   // its owner has closed it; earlier bytes can still be read
}

func newConnection(agent, host int) *connection {
	c := &connection{}
	for i, fd := range []int{agent, host} {
		c.ends[i] = end{fd: fd, buffer: make([]byte, doorBuffer)}
	}
	return c
}

// over closes a connection that has nothing more to do, and reports whether it did. That is so if both ends have sent
// everything. It is also so if one end has sent everything and is closed, because then nobody reads there.
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

// events returns the events to wait for at an end, and whether to wait there at all. The kernel reports a closed end
// again and again. So init does not wait at a closed end while the data from it cannot be passed on.
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

// progress reads and writes as far as an end is ready.
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

// take reads at an end, and at once writes as much as possible at the other end.
func (c *connection) take(side int) {
	e := &c.ends[side]
	n, err := unix.Read(e.fd, e.buffer)
	switch {
	case n > 0:
		e.pending = e.buffer[:n]
		c.write(1 - side)
	case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR): // the end, or an error that is as good as one
		e.read = true
		c.tell(side)
	}
}

// write writes at an end the bytes that were read at the other end. If this end takes nothing any more, write drops
// them, and no more are read for it.
func (c *connection) write(side int) {
	from := &c.ends[1-side]
	n, err := unix.SendmsgN(c.ends[side].fd, from.pending, nil, nil, unix.MSG_NOSIGNAL)
	switch {
	case err == nil:
		from.pending = from.pending[n:]
	case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
		from.pending, from.read = nil, true
		_ = unix.Shutdown(from.fd, unix.SHUT_RD) // so that its owner notices
	}
	c.tell(1 - side)
}

// tell passes on the end of one end's input, once all bytes before it are written at the other end.
func (c *connection) tell(side int) {
	e := &c.ends[side]
	if e.read && len(e.pending) == 0 && !e.told {
		_ = unix.Shutdown(c.ends[1-side].fd, unix.SHUT_WR) // an end that is closed needs no message
		e.told = true
	}
}
