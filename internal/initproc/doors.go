//go:build linux

package initproc

import (
	"errors"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// If the sandbox cannot open a socket of the host, init stands between. It listens in a private file system, asks the
// host for a connection for each connection of the agent, and copies both ways. It does the same for a port that leads
// to a socket. If the sandbox can open the socket, init itself connects to it. One goroutine does all of this, and
// waits for everything at once. If each connection had its own thread, init might not get one after the agent has used
// up the sandbox's processes.

// These bound the resources that the agent can make init hold.
const (
	maxConnections = 16       // at once; others wait in the listener's queue
	doorBacklog    = 128      // the length of their queue
	doorBuffer     = 32 << 10 // of one direction of a connection
	askAgain       = 10       // milliseconds until init asks a socket again whose own queue was full
)

// doors holds all sockets, and the connections through them.
type doors struct {
	all         []*entrance
	connections []*connection
	most        int
}

// entrance is a place where the agent connects, and the socket that it is connected to.
type entrance struct {
	listeners []int // at a socket, at a port, or both
	channel   int   // where init asks the host for a connection; -1 if init connects to the socket itself
	socket    string
	waiting   int // the agent's connection that still has none of the host; -1 for none
}

// newDoors begins to listen before the agent starts. Init's limit of open files is already set.
func newDoors(f runfile.File) (*doors, error) {
	d := &doors{most: maxConnections}
	listeners := 2*len(f.Doors) + len(f.Forwards)
	for _, limit := range f.Rlimits {
		if limit.Name == "nofile" { // two for each connection, and some that init has anyway
			d.most = max(1, min(d.most, (int(min(limit.Value, 1<<20))-listeners-16)/2))
		}
	}
	for i, door := range f.Doors {
		listener, err := listenAt(runfile.DoorName(i))
		if err == nil {
			err = linkTo(runfile.DoorName(i), door.Path)
		}
		if err != nil {
			return nil, refuse(runfile.FailureSetup, "socket %q: %w", door.Path, err)
		}
		channel := runfile.FirstDoor + i
		if err := unix.SetNonblock(channel, true); err != nil {
			return nil, refuse(runfile.FailureSetup, "socket %q: its channel: %w", door.Path, err)
		}
		d.all = append(d.all, &entrance{listeners: []int{listener}, channel: channel, socket: door.Path, waiting: -1})
	}
	for _, forward := range f.Forwards {
		listener, err := listenOn(forward.Port)
		if err != nil {
			return nil, refuse(runfile.FailureSetup, "port %d: %w", forward.Port, err)
		}
		e := d.to(forward.Path)
		e.listeners = append(e.listeners, listener)
	}
	return d, nil
}

// to returns the entrance of a socket, and makes it if there is none.
func (d *doors) to(socket string) *entrance {
	for _, e := range d.all {
		if e.socket == socket {
			return e
		}
	}
	e := &entrance{channel: -1, socket: socket, waiting: -1}
	d.all = append(d.all, e)
	return e
}

// listenOn listens at a port of the sandbox's own loopback address.
func listenOn(port uint16) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, err
	}
	return fd, unix.Listen(fd, doorBacklog)
}

func listenAt(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return -1, err
	}
	return fd, unix.Listen(fd, doorBacklog)
}

// linkTo makes the link that leads to a socket, if the host could not make it: in a private file system.
func linkTo(socket, name string) error {
	target := make([]byte, len(socket)+1)
	n, err := unix.Readlink(name, target)
	switch {
	case err == nil && string(target[:n]) == socket:
		return nil
	case err == nil || !errors.Is(err, unix.ENOENT):
		return errors.New("something else is there")
	}
	root, err := openRoot()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	dir, err := openDir(root, below("/", path.Dir(name)), true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Symlinkat(socket, dir, path.Base(name))
}

// serve runs for as long as init lives.
func (d *doors) serve() {
	for {
		polls, ready := d.interests()
		if _, err := unix.Poll(polls, d.patience()); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		for i, poll := range polls {
			if poll.Revents != 0 {
				ready[i](poll.Revents)
			}
		}
		for _, e := range d.all {
			if e.waiting >= 0 && e.channel < 0 {
				d.connect(e)
			}
		}
		d.connections = slices.DeleteFunc(d.connections, (*connection).over)
	}
}

// patience returns how long to wait, in milliseconds: for ever, unless init must ask a socket again.
func (d *doors) patience() int {
	for _, e := range d.all {
		if e.waiting >= 0 && e.channel < 0 {
			return askAgain
		}
	}
	return -1
}

// interests returns the events to wait for, and for each the action when it comes.
func (d *doors) interests() (polls []unix.PollFd, ready []func(int16)) {
	add := func(fd int, events int16, do func(int16)) {
		polls, ready = append(polls, unix.PollFd{Fd: int32(fd), Events: events}), append(ready, do)
	}
	busy := len(d.connections)
	for _, e := range d.all {
		if e.waiting >= 0 {
			busy++
		}
	}
	for _, e := range d.all {
		if e.waiting >= 0 {
			if e.channel >= 0 {
				add(e.channel, unix.POLLIN, func(int16) { d.answered(e) })
			}
			continue
		}
		if busy >= d.most {
			continue
		}
		for _, listener := range e.listeners {
			add(listener, unix.POLLIN, func(int16) { d.accept(e, listener) })
		}
		busy++ // keep a place for the connection that may come now
	}
	for _, c := range d.connections {
		for side := range c.ends {
			if events, wait := c.events(side); wait {
				add(c.ends[side].fd, events, func(got int16) { c.progress(side, got) })
			}
		}
	}
	return polls, ready
}

// accept takes one connection of the agent, and asks the host for one. If two listeners of an entrance are ready, only
// one of them has its turn.
func (d *doors) accept(e *entrance, listener int) {
	if e.waiting >= 0 || len(e.listeners) == 0 {
		return
	}
	fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // fails on a unix socket: it has no such option
	e.waiting = fd
	if e.channel < 0 {
		d.connect(e)
		return
	}
	if n, err := unix.Write(e.channel, []byte{runfile.DoorOpen}); n != 1 || err != nil {
		e.refuse()
		e.shut()
	}
}

// connect connects to a socket that the sandbox can open itself. If the queue of that socket is full, init asks again
// later.
func (d *doors) connect(e *entrance) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		e.refuse()
		return
	}
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: e.socket})
	if err == nil {
		d.connections = append(d.connections, newConnection(e.waiting, fd))
		e.waiting = -1
		return
	}
	unix.Close(fd)
	if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		e.refuse()
	}
}

// refuse closes the agent's connection, because the host has none for it.
func (e *entrance) refuse() {
	unix.Close(e.waiting)
	e.waiting = -1
}

// shut ends an entrance whose channel the host has closed.
func (e *entrance) shut() {
	for _, listener := range e.listeners {
		unix.Close(listener)
	}
	e.listeners = nil
}

// answered takes the connection that the host sends.
func (d *doors) answered(e *entrance) {
	var word [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(e.channel, word[:], rights, unix.MSG_CMSG_CLOEXEC)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	agent := e.waiting
	e.waiting = -1
	if err != nil || n != 1 {
		unix.Close(agent)
		e.shut()
		return
	}
	host := descriptor(rights[:m])
	if host < 0 || unix.SetNonblock(host, true) != nil {
		unix.Close(agent)
		return
	}
	d.connections = append(d.connections, newConnection(agent, host))
}

// descriptor returns the descriptor that came with a message, or -1.
func descriptor(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1
	}
	return fds[0]
}
