package metrics

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestConnectionsAreBounded: any user of the machine can connect to the address, and takes no descriptors from the watcher's work.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := &crowd{closed: make(chan struct{})}
		open, shut := context.WithCancel(t.Context())
		m := &Metrics{source: Source{Log: slog.New(slog.DiscardHandler)}}
		served := make(chan error)
		go func() { served <- m.Serve(open, crowd) }()
		synctest.Wait()
		if n := crowd.came.Load(); n != maxConnections {
			t.Errorf("%d connections were accepted, want %d", n, maxConnections)
		}
		shut()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// crowd is a listener at which a thousand clients wait that say nothing.
type crowd struct {
	net.Listener
	came   atomic.Int64
	closed chan struct{}
}

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case <-c.closed:
		return nil, net.ErrClosed
	default:
	}
	if c.came.Load() == 1000 {
		<-c.closed
		return nil, net.ErrClosed
	}
	c.came.Add(1)
	_, conn := net.Pipe()
	return conn, nil
}

func (c *crowd) Close() error {
	close(c.closed)
	return nil
}
