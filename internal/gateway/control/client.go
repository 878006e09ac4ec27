package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"

	"torno/internal/gateway"
	"torno/internal/socket"
)

// ErrNoGateway says that no gateway runs on a state directory.
var ErrNoGateway = errors.New("no model gateway is running")

// Client asks a running gateway.
type Client struct{ http *http.Client }

// Dial returns a client of the gateway of a state directory. Whether one runs shows at the first call.
func Dial(stateDir string) *Client {
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := socket.Dial(ctx, stateDir, SocketName)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
				return nil, fmt.Errorf("%w with the state directory %s", ErrNoGateway, stateDir)
			}
			return conn, err
		},
	}}}
}

// Close lets go of the connections that the client keeps.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks what there is.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
}

// Configure tells routes and prices. A gateway that does not understand them goes on with those it had, and says why.
func (c *Client) Configure(ctx context.Context, text []byte) (s Status, err error) {
	body, err := c.send(ctx, http.MethodPut, "/v1/setup", "application/yaml", bytes.NewReader(text))
	if err != nil {
		return s, err
	}
	defer body.Close()
	return s, decode(body, &s)
}

// Doors lists all doors.
func (c *Client) Doors(ctx context.Context) (all []gateway.Door, err error) {
	return all, c.call(ctx, http.MethodGet, "/v1/doors", nil, &all)
}

// Open opens a door.
func (c *Client) Open(ctx context.Context, spec gateway.Spec) (d gateway.Door, err error) {
	return d, c.call(ctx, http.MethodPost, "/v1/doors", spec, &d)
}

// Door shows one.
func (c *Client) Door(ctx context.Context, id string) (d gateway.Door, err error) {
	return d, c.call(ctx, http.MethodGet, "/v1/doors/"+url.PathEscape(id), nil, &d)
}

// Change changes one.
func (c *Client) Change(ctx context.Context, id string, change gateway.Change) (d gateway.Door, err error) {
	return d, c.call(ctx, http.MethodPatch, "/v1/doors/"+url.PathEscape(id), change, &d)
}

// CloseDoor closes one, and says what went through it.
func (c *Client) CloseDoor(ctx context.Context, id string) (d gateway.Door, err error) {
	return d, c.call(ctx, http.MethodDelete, "/v1/doors/"+url.PathEscape(id), nil, &d)
}

// Events hands what has ended behind a number to emit, and goes on until ctx or emit ends it.
func (c *Client) Events(ctx context.Context, after int64, emit func(gateway.Event) error) error {
	body, err := c.open(ctx, http.MethodGet, "/v1/events?follow=1&after="+strconv.FormatInt(after, 10), nil)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := json.NewDecoder(body)
	for {
		var event gateway.Event
		switch err := lines.Decode(&event); {
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

func (c *Client) call(ctx context.Context, method, path string, with, into any) error {
	body, err := c.open(ctx, method, path, with)
	if err != nil {
		return err
	}
	defer body.Close()
	return decode(body, into)
}

func decode(body io.Reader, into any) error {
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return nil
}

func (c *Client) open(ctx context.Context, method, path string, with any) (io.ReadCloser, error) {
	if with == nil {
		return c.send(ctx, method, path, "", nil)
	}
	raw, err := json.Marshal(with)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, method, path, "application/json", bytes.NewReader(raw))
}

// send asks, and returns the body of a good answer.
func (c *Client) send(ctx context.Context, method, path, form string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, body)
	if err != nil {
		return nil, err
	}
	if form != "" {
		request.Header.Set("Content-Type", form)
	}
	response, err := c.http.Do(request)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return nil, e.Err // it wraps a method and an address that only we know
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	failure := Failure{Error: "the gateway says " + response.Status}
	if err := json.NewDecoder(response.Body).Decode(&failure); err != nil {
		return nil, fmt.Errorf("%s, and no more: %w", failure.Error, err)
	}
	return nil, &remoteError{failure}
}

// remoteError is a failure that has its type back.
type remoteError struct{ failure Failure }

func (e *remoteError) Error() string { return e.failure.Error }

func (e *remoteError) Unwrap() error { return failures[e.failure.Code] }
