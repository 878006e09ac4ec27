//go:build linux

package initproc

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// TestAFullSocketIsAskedAgain: the queue of the host's socket is full when the agent connects to its port. The agent waits, and is
// connected when there is room. A socket that is gone ends its connection at once.
func TestAFullSocketIsAskedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	host, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(host)
	address := &unix.SockaddrUnix{Name: path}
	if err := errors.Join(unix.Bind(host, address), unix.Listen(host, 0)); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		full = errors.Is(unix.Connect(fd, address), unix.EAGAIN)
		unix.Close(fd) // it stays in the queue, and says nothing
	}

	doors, err := newDoors(runfile.File{Forwards: []runfile.Forward{{Path: path}}}) // port 0 is any
	if err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(doors.all[0].listeners[0])
	if err != nil {
		t.Fatal(err)
	}
	go doors.serve() // as in init, for ever
	agent, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: bound.(*unix.SockaddrInet4).Port})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if _, err := agent.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := agent.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for said := ""; said != "hello"; {
		conn, _, err := unix.Accept4(host, unix.SOCK_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		said = readAll(t, conn)
	}
	if _, err := io.ReadAll(agent); err != nil {
		t.Error(err)
	}
	if err := unix.Unlink(path); err != nil {
		t.Fatal(err)
	}
	again, err := net.Dial("tcp", agent.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if said, _ := io.ReadAll(again); len(said) != 0 {
		t.Errorf("it said %q", said)
	}
}

func readAll(t *testing.T, fd int) string {
	t.Helper()
	conn := os.NewFile(uintptr(fd), "connection")
	defer conn.Close()
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
