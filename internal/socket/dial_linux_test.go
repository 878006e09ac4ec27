package socket

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/missing"
)

// gatewayUser is less trusted than root.
const gatewayUser = 2_000_065_537

// listenAs is a socket whose listener is a user's process. Its service says who it is.
func listenAs(t *testing.T, user int, name, says string) {
	t.Helper()
	var listener *net.UnixListener
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is that user's from now on, and ends with this goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
			made <- errno
			return
		}
		var err error
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, says) // a caller that found out who we are may be gone
			conn.Close()
		}
	}()
}

// dialed says who answers.
func dialed(t *testing.T, dir, name string) (string, error) {
	t.Helper()
	conn, err := Dial(t.Context(), dir, name)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	said, err := io.ReadAll(conn)
	return string(said), err
}

// TestDialReachesTheDirectorysOwner (G45): a gateway with a directory of its own was taken over, and puts a socket of root's into the place of
// its control socket. A watcher that is root tells it orders.
func TestDialReachesTheDirectorysOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "it takes root to have a gateway of another user's")
	}
	host, dir := t.TempDir(), t.TempDir()
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, gatewayUser, gatewayUser), os.Chmod(dir, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	service, control := filepath.Join(host, "service"), filepath.Join(dir, "control")
	listenAs(t, 0, service, "root's")
	for name, lay := range map[string]func() error{
		"a link":        func() error { return os.Symlink(service, control) },
		"a second name": func() error { return os.Link(service, control) },
		"a listener of root's": func() error {
			listenAs(t, 0, control, "root's")
			return os.Chown(control, gatewayUser, gatewayUser)
		},
		"a file":      func() error { return os.WriteFile(control, nil, 0o666) },
		"a directory": func() error { return os.Mkdir(control, 0o755) },
	} {
		if err := lay(); err != nil {
			t.Fatal(err)
		}
		if said, err := dialed(t, dir, "control"); err == nil {
			t.Errorf("%s: %q answers", name, said)
		}
		if err := os.Remove(control); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"control", "../" + filepath.Base(host) + "/service", service} {
		if said, err := dialed(t, dir, name); err == nil || name == "control" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, which is not there: %q, %v", name, said, err)
		}
	}
	listenAs(t, gatewayUser, control, "the gateway's")
	if said, err := dialed(t, dir, "control"); said != "the gateway's" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := dialed(t, host, "service"); said != "root's" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
}

// TestADeadSocketIsRefused: callers tell a program that is not running by this error.
func TestADeadSocketIsRefused(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir, "s", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if _, err := Dial(t.Context(), dir, "s"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, "none"), "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
