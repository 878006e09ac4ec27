package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Client calls the API of a program that serves it on a socket.
type Client struct {
	http    *http.Client
	program string // for errors: "watcher"
	errors  Errors
}

// NewClient returns a client. program names the program that answers, in errors; dial connects to it.
func NewClient(program string, known Errors, dial func(context.Context) (net.Conn, error)) *Client {
	return ClientOver(program, known, &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	})
}

// ClientOver is NewClient over another transport.
func ClientOver(program string, known Errors, transport http.RoundTripper) *Client {
	return &Client{&http.Client{Transport: transport}, program, known}
}

// Close closes the connections that wait for another call.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a call and decodes its reply. Without a body, body is nil.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	reply, err := c.Open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer reply.Close()
	if err := json.NewDecoder(reply).Decode(into); err != nil {
		return fmt.Errorf("read the %s's reply: %w", c.program, err)
	}
	return nil
}

// Text is a body that is sent as it is. Every other one is sent as JSON.
type Text []byte

func encode(body any) (io.Reader, error) {
	switch b := body.(type) {
	case nil:
		return http.NoBody, nil
	case Text:
		return bytes.NewReader(b), nil
	default:
		raw, err := json.Marshal(body)
		return bytes.NewReader(raw), err
	}
}

// Open makes a call and returns its reply, for the caller to read and to close.
func (c *Client) Open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	sent, err := encode(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.program+path, sent)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return nil, e.Err // the method and the address around it mean nothing to the caller
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	said := failure{Error: "the " + c.program + " says " + response.Status}
	if response.StatusCode == http.StatusNotFound && response.Header.Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("the %s knows no %s %s: it is of another version than this program", c.program, method, request.URL.Path)
	}
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("%s, and no more: %w", said.Error, err)
	}
	return nil, &remoteError{said.Error, c.errors[said.Code].Err}
}

// remoteError is an error from the other program: its text, and the error that its code stands for.
type remoteError struct {
	text  string
	known error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() error { return e.known }
