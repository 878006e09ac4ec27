package credential

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pair returns the two ends of a new connection.
func pair(kind int) (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // so that no child process inherits them
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "pair")
	ours, err = ConnOf(os.NewFile(uintptr(fds[0]), "pair"))
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// ConnOf makes a connection from a descriptor, and closes the descriptor.
func ConnOf(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	ours, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("the descriptor is no unix socket"), conn.Close())
	}
	return ours, nil
}

// Asks makes a new channel to a warden. It returns the warden's end, and the end for the gateway.
func Asks() (wardens *net.UnixConn, gateways *os.File, err error) { return pair(unix.SOCK_SEQPACKET) }

// send opens a new connection by sending its other end.
func send(asks *net.UnixConn) (*net.UnixConn, error) {
	ours, theirs, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if _, _, err := asks.WriteMsgUnix([]byte{0}, unix.UnixRights(int(theirs.Fd())), nil); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

// receive waits for a new connection, and returns io.EOF if the gateway is gone. It returns nil if the gateway sent
// something else.
func receive(asks *net.UnixConn) (*net.UnixConn, error) {
	var text [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, size, flags, _, err := asks.ReadMsgUnix(text[:], rights)
	if err != nil {
		return nil, err
	}
	if n == 0 && size == 0 {
		return nil, io.EOF
	}
	if size == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil {
		return nil, nil //nolint:nilerr // a message that is not a connection is dropped
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "asked"))
		}
	}
	if len(files) != 1 || flags&unix.MSG_CTRUNC != 0 {
		for _, f := range files {
			f.Close()
		}
		return nil, nil
	}
	conn, err := ConnOf(files[0])
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return conn, nil
}
