package keeper

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// short is a listener. Its next calls of Accept fail, as on a machine that has no file descriptor left.
type short struct {
	net.Listener
	fails int
}

func (s *short) Accept() (net.Conn, error) {
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("too many open files")
	}
	return s.Listener.Accept()
}

func TestAKeeperHearsAfterAShortage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	heard := false
	var watcher sync.WaitGroup
	watcher.Go(func() {
		defer listener.Close()
		_, _ = io.WriteString(conn, "nonsense\n")
		_, err := io.ReadAll(conn)
		heard = err == nil // the keeper closed it
	})
	k := &keeper{listener: &short{listener, 2}}
	k.accept(t.Context())
	conn.Close() // the keeper has not closed it if it accepts nobody any more
	watcher.Wait()
	k.serving.Wait()
	if !heard {
		t.Error("the keeper hears nobody any more")
	}
}
