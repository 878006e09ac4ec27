package mcp

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
)

// The places of connections on a port.
const (
	maxStrangers = 128 // connections that have not shown the token
	maxClients   = 256
)

// visitors are the connections to a port. A connection is a stranger until a request on it has shown the token. When a stranger comes
// and all places of strangers are taken, the oldest of them is closed: strangers keep no client out, however many there are.
type visitors struct {
	mu        sync.Mutex
	strangers []net.Conn // the oldest first
	clients   map[net.Conn]bool
}

// follow is the server's ConnState.
func (v *visitors) follow(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if oldest := v.enter(conn); oldest != nil {
			oldest.Close()
			runtime.Gosched() // those that were let in read what has come before more are let in
		}
	case http.StateClosed:
		v.leave(conn)
	}
}

// enter gives a connection a stranger's place, and returns the one that loses it.
func (v *visitors) enter(conn net.Conn) (oldest net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.strangers) == maxStrangers {
		oldest, v.strangers = v.strangers[0], v.strangers[1:]
	}
	v.strangers = append(v.strangers, conn)
	return oldest
}

func (v *visitors) leave(conn net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.strangers = slices.DeleteFunc(v.strangers, func(c net.Conn) bool { return c == conn })
	delete(v.clients, conn)
}

// admit gives the connection of a request that has shown the token a client's place, unless all are taken.
func (v *visitors) admit(r *http.Request) bool {
	conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.clients[conn] {
		return true
	}
	if len(v.clients) == maxClients {
		return false
	}
	v.strangers = slices.DeleteFunc(v.strangers, func(c net.Conn) bool { return c == conn })
	v.clients[conn] = true
	return true
}

// connectionKey is for the connection of a request.
type connectionKey struct{}

// withConnection is the server's ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}
