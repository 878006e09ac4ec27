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

// The bounds of another program's messages. A stranger may have taken over that program, for example the model gateway.
const (
	maxMessage = 1 << 20 // bytes of a reply, or of one message of a stream
	maxFailure = 64 << 10
	maxListed  = 20_000 // messages of a list, because a short message takes much more room when it is decoded
)

// ErrTooLong means that a reply, or a message of a stream, exceeds its bound.
var ErrTooLong = errors.New("it is longer than this program accepts")

// Client calls the API of a program that serves it on a socket.
type Client struct {
	http    *http.Client
	program string // for errors, such as "watcher"
	errors  Errors
}

// NewClient returns a client. program is the other program's name in errors; dial connects to that program.
func NewClient(program string, known Errors, dial func(context.Context) (net.Conn, error)) *Client {
	return ClientOver(program, known, &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxResponseHeaderBytes: maxFailure,
	})
}

// ClientOver returns a client like NewClient, but uses the given transport.
func ClientOver(program string, known Errors, transport http.RoundTripper) *Client {
	return &Client{&http.Client{Transport: transport}, program, known}
}

// Close closes the connections that no call is using.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a call and decodes its reply. If body is nil, the call has no body.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	reply, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer reply.Close()
	if err := newMessages(reply).next(into, maxMessage); err != nil {
		return fmt.Errorf("read the %s's reply: %w", c.program, err)
	}
	return nil
}

// List makes a call whose reply is a list of at most most bytes.
func List[T any](ctx context.Context, c *Client, most int64, method, path string) (all []T, err error) {
	reply, err := c.open(ctx, method, path, nil)
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	m := newMessages(reply)
	m.left.N = most
	begin, err := m.in.Token()
	if err == nil && begin != nil && begin != json.Delim('[') {
		err = errors.New("it is not a list")
	}
	if begin != nil {
		all = []T{}
	}
	for err == nil && begin != nil && m.in.More() {
		var one T
		err = m.in.Decode(&one)
		if m.left.N <= 0 || len(all) == maxListed {
			err = ErrTooLong
		}
		all = append(all, one)
	}
	if err == nil && begin != nil {
		_, err = m.in.Token() // without the end of the list, a part of it is missing
	}
	if m.left.N <= 0 && err != nil {
		err = ErrTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("read the %s's list: %w", c.program, err)
	}
	return all, nil
}

// Stream makes a call whose reply is a series of messages, which may come over a long time. The caller closes the
// Stream.
func (c *Client) Stream(ctx context.Context, path string) (*Stream, error) {
	reply, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return &Stream{reply, newMessages(reply)}, nil
}

// Stream is a reply that consists of many messages.
type Stream struct {
	io.Closer
	messages *messages
}

// Next decodes the next message. After the last message it returns io.EOF.
func (s *Stream) Next(into any) error { return s.messages.next(into, maxMessage) }

// messages reads the other program's messages one after the other.
type messages struct {
	left io.LimitedReader
	in   *json.Decoder
}

func newMessages(from io.Reader) *messages {
	m := &messages{left: io.LimitedReader{R: from}}
	m.in = json.NewDecoder(&m.left)
	return m
}

func (m *messages) next(into any, most int64) error {
	m.left.N = most
	err := m.in.Decode(into)
	if err != nil && m.left.N <= 0 {
		return ErrTooLong
	}
	return err
}

// Text is a body that is sent as it is. Any other body is sent as JSON.
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

// open makes a call and returns its reply, which the caller reads and closes.
func (c *Client) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
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
		return nil, e.Err // without the method and the address, which mean nothing to the caller
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
		return nil, fmt.Errorf("the %s does not know %s %s: it is of another version than this program", c.program, method, request.URL.Path)
	}
	if err := newMessages(response.Body).next(&said, maxFailure); err != nil {
		return nil, fmt.Errorf("%s, without an explanation: %w", said.Error, err)
	}
	return nil, &remoteError{said.Error, c.errors[said.Code].Err}
}

// remoteError is an error from the other program: its text, and the error for its code.
type remoteError struct {
	text  string
	known error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() error { return e.known }
