package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"torno/internal/socket"
)

// ErrNoWatcher means that no watcher runs on the state directory.
var ErrNoWatcher = errors.New("no watcher is running")

// Client asks a running watcher. It is a Service.
type Client struct{ watcher *socket.Client }

var _ Service = (*Client)(nil)

// Dial returns a client for the watcher of a state directory. It connects only at the first call, so an absent watcher
// shows only then.
func Dial(stateDir string) *Client {
	return &Client{socket.NewClient("watcher", failures, func(ctx context.Context) (net.Conn, error) {
		conn, err := socket.Dial(ctx, stateDir, SocketName)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("%w with the state directory %s", ErrNoWatcher, stateDir)
		case errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("the watcher of %s belongs to another user: %w", stateDir, fs.ErrPermission)
		}
		return conn, err
	})}
}

// Status asks for the watcher's status: its outboxes and its launchers.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/status", &s)
}

// maxList bounds a list, in bytes. It is enough for 20,000 entries, which is the other bound of a list.
const maxList = 64 << 20

// Runs lists runs.
func (c *Client) Runs(ctx context.Context, q Query) (runs []Run, err error) {
	form := url.Values{"outbox": {q.Outbox}, "limit": {strconv.Itoa(q.Limit)}}
	if q.All {
		form.Set("all", "1")
	}
	return socket.List[Run](ctx, c.watcher, maxList, http.MethodGet, "/v1/runs?"+form.Encode())
}

// Run shows one run.
func (c *Client) Run(ctx context.Context, ref string) (run Run, err error) {
	return run, c.call(ctx, http.MethodGet, "/v1/runs/"+escape(ref), &run)
}

// Cancel ends a run.
func (c *Client) Cancel(ctx context.Context, ref string) (run Run, err error) {
	return run, c.call(ctx, http.MethodPost, "/v1/cancel/"+escape(ref), &run)
}

// Abandon ends a stranded run and leaves its sandbox alone.
func (c *Client) Abandon(ctx context.Context, ref string) (run Run, err error) {
	return run, c.call(ctx, http.MethodPost, "/v1/abandon/"+escape(ref), &run)
}

// Accept tells the watcher whether an outbox's directory is the same outbox or a new one.
func (c *Client) Accept(ctx context.Context, outbox string, as Identity) (accepted Accepted, err error) {
	return accepted, c.call(ctx, http.MethodPost, "/v1/accept/"+escape(outbox)+"?"+url.Values{"as": {string(as)}}.Encode(), &accepted)
}

// Output hands a child's output to emit.
func (c *Client) Output(ctx context.Context, ref string, follow bool, emit func(Output) error) error {
	path := "/v1/output/" + escape(ref)
	if follow {
		path += "?follow=1"
	}
	lines, err := c.watcher.Stream(ctx, path)
	if err != nil {
		return err
	}
	defer lines.Close()
	for {
		var o Output
		switch err := lines.Next(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the output broke off: the watcher stopped, or it cannot follow the sandbox any more")
		case err != nil:
			return fmt.Errorf("read the output: %w", err)
		}
		if err := emit(o); err != nil {
			return err
		}
	}
}

func (c *Client) call(ctx context.Context, method, path string, into any) error {
	return c.watcher.Call(ctx, method, path, nil, into)
}

// escape turns a reference into one element of a path, even if it has slashes and dots in it. Without this the server,
// which tidies paths before it looks at them, would take a/../b for b.
func escape(ref string) string { return strings.ReplaceAll(url.PathEscape(ref), ".", "%2E") }
