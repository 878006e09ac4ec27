package keeper

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestAKeeperHearsAfterAShortage: accepting failed for a moment, as where the machine is short of files.
func TestAKeeperHearsAfterAShortage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "socket")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", name)
	if err == nil {
		err = listener.SetDeadline(time.Unix(1, 0)) // each Accept fails
	}
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(shortage/2, func() { _ = listener.SetDeadline(time.Time{}) })
	heard := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		defer listener.Close()
		_, _ = io.WriteString(conn, "nonsense\n")
		if _, err := io.ReadAll(conn); err == nil { // the keeper closes it
			close(heard)
		}
	})
	k := &keeper{listener: listener}
	k.accept(t.Context())
	select {
	case <-heard:
	default:
		t.Error("the keeper hears nobody any more")
	}
	conn.Close()
	watcher.Wait()
	k.serving.Wait()
}
