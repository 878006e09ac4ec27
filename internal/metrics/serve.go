package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections bounds the connections of all users of this machine together at the address, and so the descriptors
// and the work that they cost.
const maxConnections = 16

// Serve answers at a loopback address until open is done. It closes the listener.
func (m *Metrics) Serve(open context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: Local(m.Handler()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(m.source.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(open, func() { server.Close() })()
	err := server.Serve(&bounded{listener, make(chan struct{}, maxConnections)})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// bounded is a listener with as many connections at a time as places has room. Further ones wait in the kernel.
type bounded struct {
	net.Listener
	places chan struct{}
}

// Accept waits for a place, and then for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	b.places <- struct{}{}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &place{Conn: conn, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// place is a connection that takes up one place. It gives the place back only once, however often it is closed.
type place struct {
	net.Conn
	leave func()
}

// Close gives the place back and ends the connection.
func (p *place) Close() error {
	p.leave()
	return p.Conn.Close()
}
