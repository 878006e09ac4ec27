package mcp

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"torno/test/missing"
	tests "torno/test/wait"
)

// TestAnotherUserIsNotServed, also where the modes of files let him connect.
func TestAnotherUserIsNotServed(t *testing.T) {
	if os.Getuid() != 0 {
		missing.Skip(t, "it takes root to become another user")
	}
	sh := newStage(t).serveSocket(Options{})
	sh.check(os.Chmod(sh.path, 0o666))
	for at := filepath.Dir(sh.path); at != os.TempDir(); at = filepath.Dir(at) {
		sh.check(os.Chmod(at, 0o755))
	}
	said := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is another user's from now on, and ends with this goroutine
		const nobody = 65534
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); err != 0 {
			said <- err.Error()
			return
		}
		conn, err := net.Dial("unix", sh.path)
		if err != nil {
			said <- err.Error()
			return
		}
		_ = conn.SetDeadline(time.Now().Add(tests.Patience))
		_, _ = io.WriteString(conn, hello+"\n")
		answer, _ := io.ReadAll(conn)
		said <- string(answer)
	}()
	if answer := <-said; answer != "" {
		t.Errorf("another user hears %q", answer)
	}
	sh.join()
}
