package gateway

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// peerSocket names the socket to which the process of TestPeerProcess connects.
const peerSocket = "TORNO_TEST_PEER"

// TestPeerProcess is another process: it connects, and waits for the end.
func TestPeerProcess(t *testing.T) {
	path := os.Getenv(peerSocket)
	if path == "" {
		t.Skip("it is started by other tests")
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, conn)
}

// peer is a connection of another process. end ends that process, and leaves the connection, and the process's number to it.
func peer(t *testing.T) (conn *net.UnixConn, end func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	other := exec.Command(os.Args[0], "-test.run=^TestPeerProcess$")
	other.Env = append(os.Environ(), peerSocket+"="+path)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		other.Process.Kill()
		other.Wait()
	})
	end = func() {
		other.Process.Kill()
		if err := unix.Waitid(unix.P_PID, other.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err = listener.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, end
}

// TestAPeerOfAnotherUser: a gateway with a user of its own serves children of other users, which it may not signal.
func TestAPeerOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT SHOWN HERE: it takes root to become another user")
	}
	conn, _ := peer(t)
	type verdict struct {
		ok  bool
		err error
	}
	said := make(chan verdict)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is another user's from now on, and ends with this goroutine
		const nobody = 65534
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); err != 0 {
			said <- verdict{false, err}
			return
		}
		ok, err := inGroup(conn, "/")
		said <- verdict{ok, err}
	}()
	if got := <-said; !got.ok || got.err != nil {
		t.Errorf("%v, %v", got.ok, got.err)
	}
}

// TestAPeerThatHasEnded is not served: its number may be another process's in the next moment.
func TestAPeerThatHasEnded(t *testing.T) {
	conn, end := peer(t)
	if ok, err := inGroup(conn, "/"); !ok || err != nil {
		t.Fatalf("while it runs: %v, %v", ok, err)
	}
	end()
	if ok, err := inGroup(conn, "/"); ok || err == nil {
		t.Errorf("after its end: %v, %v", ok, err)
	}
}
