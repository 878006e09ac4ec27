package mcp

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
)

// A port has these places for connections.
const (
	maxStrangers = 128 // connections that have not shown the token
	maxClients   = 256
)

// visitors holds the connections to a port. A connection is a stranger until one of its requests has shown the token.
// If a stranger comes when all places for strangers are taken, the oldest stranger is closed. So strangers keep no
// client out, however many there are.
type visitors struct {
	mu        sync.Mutex
	strangers []net.Conn // the oldest first
	clients   map[net.Conn]bool
}

// follow gives a place to each new connection and frees it at the end. It serves as the server's ConnState hook.
func (v *visitors) follow(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if oldest := v.enter(conn); oldest != nil {
			oldest.Close()
			runtime.Gosched() // let the admitted connections read their data before more are admitted
		}
	case http.StateClosed:
		v.leave(conn)
	}
}

// enter gives a stranger's place to a connection. It returns the connection that loses its place, or nil.
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

// admit gives a client's place to the connection of a request that has shown the token. It returns false if all are
// taken.
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

// connectionKey is the context key for the connection of a request.
type connectionKey struct{}

// withConnection keeps the connection in the context. It is the server's ConnContext hook.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}
