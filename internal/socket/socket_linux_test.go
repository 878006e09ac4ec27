package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheModeIsTheSocketsOwn: a link that a sandbox put into the socket's place opens no file of the host's.
func TestTheModeIsTheSocketsOwn(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	listener, err := Listen(dir, "sock", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if info, err := os.Lstat(filepath.Join(dir, "sock")); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := setMode(dir, "link", 0o666); err == nil {
		t.Error("a link has a mode")
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file behind a link: %v, %v", info, err)
	}
	if err := setMode(filepath.Dir(secret), "secret", 0o666); err == nil {
		t.Error("a file is taken for a socket")
	}
}

// TestOperatorsOnly: another user who reaches the socket gets not one byte, and our own is served.
func TestOperatorsOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT SHOWN HERE: it takes root to become another user")
	}
	dir := t.TempDir()
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := Listen(dir, "sock", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for guarded := OperatorsOnly(listener); ; {
			conn, err := guarded.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "served")
			conn.Close()
		}
	}()
	ask := func() (string, error) {
		conn, err := net.Dial("unix", filepath.Join(dir, "sock"))
		if err != nil {
			return "", err
		}
		defer conn.Close()
		said, err := io.ReadAll(conn)
		return string(said), err
	}
	type answer struct {
		said string
		err  error
	}
	stranger := make(chan answer)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is another user's from now on, and ends with this goroutine
		const nobody = 65534
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); err != 0 {
			stranger <- answer{"", err}
			return
		}
		said, err := ask()
		stranger <- answer{said, err}
	}()
	if got := <-stranger; got.said != "" || got.err != nil && !errors.Is(got.err, unix.ECONNRESET) {
		t.Errorf("another user is told %q, %v", got.said, got.err)
	}
	if said, err := ask(); said != "served" || err != nil {
		t.Errorf("we are told %q, %v", said, err)
	}
}
