//go:build linux

package initproc

import (
	"errors"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// Where the sandbox cannot open a socket of the host's, init stands between: it listens in a private file system, asks the
// host for a connection for each of the agent's, and copies both ways. All of it is one goroutine, which waits for everything
// at once: a thread for each connection might not be had when the agent has used up the sandbox's processes.

// Bounds of what the agent can make init hold.
const (
	maxConnections = 16       // at once; others wait in the queue
	doorBacklog    = 128      // that queue
	doorBuffer     = 32 << 10 // of one direction of a connection
)

// doors are all sockets, and the connections through them.
type doors struct {
	all         []*entrance
	connections []*connection
	most        int
}

// entrance is where the agent connects.
type entrance struct {
	listener, channel int
	waiting           int // a connection of the agent's for which the host was asked; -1 for none
}

// newDoors listens before the agent starts. Init's limit of open files is set already.
func newDoors(f runfile.File) (*doors, error) {
	d := &doors{most: maxConnections}
	for _, limit := range f.Rlimits {
		if limit.Name == "nofile" { // two for each connection, and some that init has anyway
			d.most = max(1, min(d.most, (int(min(limit.Value, 1<<20))-2*len(f.Doors)-16)/2))
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
		d.all = append(d.all, &entrance{listener: listener, channel: channel, waiting: -1})
	}
	return d, nil
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

// linkTo makes the link that leads to a socket, where the host could not: in a private file system.
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

// serve goes on for as long as init lives.
func (d *doors) serve() {
	for {
		polls, ready := d.interests()
		if _, err := unix.Poll(polls, -1); err != nil {
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
		d.connections = slices.DeleteFunc(d.connections, (*connection).over)
	}
}

// interests are what to wait for, and what to do when it comes.
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
		switch {
		case e.waiting >= 0:
			add(e.channel, unix.POLLIN, func(int16) { d.answered(e) })
		case busy < d.most && e.listener >= 0:
			add(e.listener, unix.POLLIN, func(int16) { e.accept() })
			busy++ // a place is kept for each that may come now
		}
	}
	for _, c := range d.connections {
		for side := range c.ends {
			if events, any := c.events(side); any {
				add(c.ends[side].fd, events, func(got int16) { c.progress(side, got) })
			}
		}
	}
	return polls, ready
}

// accept takes one connection of the agent's, and asks the host for one.
func (e *entrance) accept() {
	fd, _, err := unix.Accept4(e.listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return
	}
	if n, err := unix.Write(e.channel, []byte{runfile.DoorOpen}); n != 1 || err != nil {
		unix.Close(fd)
		e.shut()
		return
	}
	e.waiting = fd
}

// shut is for a channel that has nobody at its other end.
func (e *entrance) shut() {
	unix.Close(e.listener)
	e.listener = -1
}

// answered takes the host's connection.
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

// descriptor is the one that came with a message, or -1.
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
