package keeper

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// short is a listener whose next calls of Accept fail, as where the machine is short of files.
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
	conn.Close() // nobody has, if the keeper hears nobody any more
	watcher.Wait()
	k.serving.Wait()
	if !heard {
		t.Error("the keeper hears nobody any more")
	}
}
