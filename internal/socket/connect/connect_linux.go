package connect

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// To connects to the socket that has this name in a directory. It follows no link. It refuses a file that the
// directory's owner has not made, and a socket on which another user's process listens. The descriptor does not block;
// a socket whose queue is full is an error.
func To(dir *os.File, name string) (fd int, err error) {
	fd, err = to(dir, name)
	if err != nil {
		return -1, fmt.Errorf("connect to the socket %s: %w", name, err)
	}
	return fd, nil
}

func to(dir *os.File, name string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	found, err := unix.Openat2(int(dir.Fd()), name, &how)
	if err != nil {
		return -1, err
	}
	socket := os.NewFile(uintptr(found), name)
	defer socket.Close()
	owner, err := ownerOf(dir, socket)
	if err != nil {
		return -1, err
	}
	fd, err := Held(socket)
	if err != nil {
		return -1, err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil && peer.Uid != owner {
		err = fmt.Errorf("a process of user %d listens there, but the directory belongs to user %d", peer.Uid, owner)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// ownerOf returns the owner of a directory, if the same user owns a socket in it.
func ownerOf(dir, socket *os.File) (owner uint32, err error) {
	var above, is unix.Stat_t
	if err := errors.Join(unix.Fstat(int(dir.Fd()), &above), unix.Fstat(int(socket.Fd()), &is)); err != nil {
		return 0, err
	}
	switch {
	case is.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return 0, errors.New("something else is there")
	case is.Uid != above.Uid:
		return 0, fmt.Errorf("it belongs to user %d, but the directory to user %d", is.Uid, above.Uid)
	}
	return above.Uid, nil
}

// Held connects to a socket that is open with O_PATH. The descriptor does not block; a socket whose queue is full is an
// error.
func Held(socket *os.File) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", socket.Fd())}); err != nil {
		return -1, errors.Join(os.NewSyscallError("connect", err), unix.Close(fd))
	}
	return fd, nil
}
