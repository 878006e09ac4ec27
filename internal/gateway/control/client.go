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
	"syscall"

	"torno/internal/calendar"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/socket"
)

// ErrNoGateway means that no gateway runs with a state directory.
var ErrNoGateway = errors.New("no model gateway is running")

// Client calls a running gateway.
type Client struct{ gateway *socket.Client }

// Dial returns a client for the gateway of a state directory. Only the first call shows whether a gateway runs.
func Dial(stateDir string) *Client {
	return &Client{socket.NewClient("gateway", failures, func(ctx context.Context) (net.Conn, error) {
		conn, err := socket.Dial(ctx, stateDir, SocketName)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w with the state directory %s", ErrNoGateway, stateDir)
		}
		return conn, err
	})}
}

// Close closes idle connections.
func (c *Client) Close() { c.gateway.Close() }

// Status asks for the gateway's status: its routes and how many doors it has.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.gateway.Call(ctx, http.MethodGet, "/v1/status", nil, &s)
}

// Configure sends routes and prices. If the gateway does not understand them, it keeps its old ones and returns the
// reason.
func (c *Client) Configure(ctx context.Context, text []byte) (s Status, err error) {
	return s, c.gateway.Call(ctx, http.MethodPut, "/v1/setup", socket.Text(text), &s)
}

// Stop asks the gateway to end after its answers under way have ended. It may live for a while after the reply.
func (c *Client) Stop(ctx context.Context) (s Status, err error) {
	return s, c.gateway.Call(ctx, http.MethodPost, "/v1/stop", nil, &s)
}

// Try makes the gateway ask a route's upstream something that costs nothing. If model is "", it asks for the models
// that the route names in full.
func (c *Client) Try(ctx context.Context, route, model string) (t gateway.Tried, err error) {
	path := "/v1/routes/" + url.PathEscape(route) + "/try?" + url.Values{"model": {model}}.Encode()
	return t, c.gateway.Call(ctx, http.MethodPost, path, nil, &t)
}

// maxList bounds a list, in bytes. The most doors that there may be take about half of it. In the caller's memory a
// hostile list takes twenty times as much.
const maxList = 8 << 20

// Doors lists all doors.
func (c *Client) Doors(ctx context.Context) (all []gateway.Door, err error) {
	return socket.List[gateway.Door](ctx, c.gateway, maxList, http.MethodGet, "/v1/doors")
}

// Open opens a door.
func (c *Client) Open(ctx context.Context, spec gateway.Spec) (d gateway.Door, err error) {
	return d, c.gateway.Call(ctx, http.MethodPost, "/v1/doors", spec, &d)
}

// Door shows one door.
func (c *Client) Door(ctx context.Context, id string) (d gateway.Door, err error) {
	return d, c.gateway.Call(ctx, http.MethodGet, "/v1/doors/"+url.PathEscape(id), nil, &d)
}

// Change changes a door.
func (c *Client) Change(ctx context.Context, id string, change gateway.Change) (d gateway.Door, err error) {
	return d, c.gateway.Call(ctx, http.MethodPatch, "/v1/doors/"+url.PathEscape(id), change, &d)
}

// CloseDoor closes a door and returns the report of its traffic.
func (c *Client) CloseDoor(ctx context.Context, id string) (d gateway.Door, err error) {
	return d, c.gateway.Call(ctx, http.MethodDelete, "/v1/doors/"+url.PathEscape(id), nil, &d)
}

// Spent returns the spending of a scope, and its open reservations.
func (c *Client) Spent(ctx context.Context, scope budget.Scope) (use budget.Use, err error) {
	query := url.Values{"kind": {scope.Kind}, "id": {scope.ID}}
	return use, c.gateway.Call(ctx, http.MethodGet, "/v1/spent?"+query.Encode(), nil, &use)
}

// Reset starts a scope's budget anew, and returns the use that was thrown away.
func (c *Client) Reset(ctx context.Context, scope budget.Scope) (was budget.Use, err error) {
	query := url.Values{"kind": {scope.Kind}, "id": {scope.ID}}
	return was, c.gateway.Call(ctx, http.MethodPost, "/v1/reset?"+query.Encode(), nil, &was)
}

// Clock returns why the clock is in doubt, or nil while the gateway believes it.
func (c *Client) Clock(ctx context.Context) (doubt *calendar.Doubt, err error) {
	return doubt, c.gateway.Call(ctx, http.MethodGet, "/v1/clock", nil, &doubt)
}

// Totals returns the traffic of each route since the gateway started.
func (c *Client) Totals(ctx context.Context) (all []gateway.Total, err error) {
	return socket.List[gateway.Total](ctx, c.gateway, maxList, http.MethodGet, "/v1/totals")
}

// IdleRuns lists runs that have spent something and have no open door, sorted by name. It begins after the name in
// after, and may return only a part.
func (c *Client) IdleRuns(ctx context.Context, after string) (runs []string, err error) {
	query := url.Values{"after": {after}}
	return socket.List[string](ctx, c.gateway, maxList, http.MethodGet, "/v1/runs?"+query.Encode())
}

// Forget makes the gateway forget the spending of runs. Runs with an open door stay.
func (c *Client) Forget(ctx context.Context, runs []string) error {
	return c.gateway.Call(ctx, http.MethodPost, "/v1/forget", runs, &struct{}{})
}

// IdleSubagents lists subagents that have spent something and have no open door, sorted by name. It begins after the
// name in after, and may return only a part.
func (c *Client) IdleSubagents(ctx context.Context, after string) (all []gateway.Idle, err error) {
	query := url.Values{"after": {after}}
	return socket.List[gateway.Idle](ctx, c.gateway, maxList, http.MethodGet, "/v1/subagents?"+query.Encode())
}

// ForgetSubagents makes the gateway forget the spending of subagents. A subagent stays if it has an open door, or has
// spent something since it was listed.
func (c *Client) ForgetSubagents(ctx context.Context, gone []gateway.Idle) error {
	return c.gateway.Call(ctx, http.MethodPost, "/v1/subagents/forget", gone, &struct{}{})
}

// Events passes all events after a number to emit, and then new ones, until ctx is done or emit fails.
func (c *Client) Events(ctx context.Context, after int64, emit func(gateway.Event) error) error {
	lines, err := c.gateway.Stream(ctx, "/v1/events?follow=1&after="+strconv.FormatInt(after, 10))
	if err != nil {
		return err
	}
	defer lines.Close()
	for {
		var event gateway.Event
		switch err := lines.Next(&event); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the gateway's events: %w", err)
		}
		if err := emit(event); err != nil {
			return err
		}
	}
}
