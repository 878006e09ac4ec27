package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxLine     = 4 << 20               // bytes per message; a longer message is answered with an error and thrown away
	maxInFlight = 64                    // calls; at this number we stop reading
	lastCalls   = maxCall + time.Second // for calls that still run when the client ends its input
)

// lines is a transport with one message per line. In three things it differs from the library's own: it goes on after a
// line that is too long or not a message, it stops reading while too many calls run, and it answers the open calls
// after the input has ended.
type lines struct {
	in      *bufio.Reader
	close   func() error
	hangUp  func() // called when the input has ended
	session string // distinguishes the server's clients; "" if there is only one

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	freed    sync.Cond
	inFlight map[jsonrpc.ID]bool
	closed   bool
}

func newLines(in io.Reader, out io.Writer, hangUp func()) *lines {
	l := &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, hangUp: hangUp, inFlight: map[jsonrpc.ID]bool{}}
	l.freed.L = &l.mu
	l.close = func() error { return nil }
	if c, ok := in.(io.Closer); ok {
		l.close = c.Close
	}
	return l
}

// Connect begins the only connection.
func (l *lines) Connect(context.Context) (sdk.Connection, error) { return l, nil }

// SessionID returns the session's name.
func (l *lines) SessionID() string { return l.session }

// Read returns the next message.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, whole, err := l.line()
		if err != nil {
			l.finish()
			return nil, err
		}
		if len(line) == 0 && whole {
			continue
		}
		message, fault := decode(line, whole)
		if fault == nil {
			return message, l.begin(ctx, message)
		}
		if err := l.write(fault); err != nil {
			return nil, err
		}
	}
}

// line reads a line without its end. If the line is too long, line returns only the ID of the message, and whole is
// false.
func (l *lines) line() (line []byte, whole bool, err error) {
	var id idFinder
	for {
		part, err := l.in.ReadSlice('\n')
		id.write(part)
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, false, err
		case len(line) > maxLine:
			return id.found(), false, nil
		}
		return trimEnd(line), true, nil
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// fault is the answer to a line that is not a message.
type fault struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   jsonrpc.Error   `json:"error"`
}

func faultOf(id json.RawMessage, code int64, text string) *fault {
	if !json.Valid(id) {
		id = json.RawMessage("null")
	}
	return &fault{"2.0", id, jsonrpc.Error{Code: code, Message: text}}
}

// decode makes a message from a line. If whole is false, the line holds only the ID of a message that was too long.
func decode(line []byte, whole bool) (jsonrpc.Message, *fault) {
	if !whole {
		return nil, faultOf(line, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the message is longer than %d bytes. next: put long text into a file, and name the file in the task", maxLine))
	}
	message, err := jsonrpc.DecodeMessage(line)
	switch {
	case !json.Valid(line):
		return nil, faultOf(nil, jsonrpc.CodeParseError, "the line is not JSON. next: write each message on a line of its own")
	case err != nil:
		var id idFinder
		id.write(line)
		return nil, faultOf(id.found(), jsonrpc.CodeInvalidRequest, words("the line is not a message of JSON-RPC 2.0: "+err.Error()))
	}
	return message, nil
}

// begin counts a call. It first waits until there is room for it.
func (l *lines) begin(ctx context.Context, message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return nil
	}
	stop := context.AfterFunc(ctx, l.wake)
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.inFlight) >= maxInFlight && !l.closed && ctx.Err() == nil {
		l.freed.Wait()
	}
	l.inFlight[request.ID] = true
	return ctx.Err()
}

func (l *lines) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freed.Broadcast()
}

// finish waits for the running calls, after the end of the input.
func (l *lines) finish() {
	l.hangUp()
	stop := time.AfterFunc(lastCalls, func() { _ = l.Close() })
	defer stop.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.inFlight) > 0 && !l.closed {
		l.freed.Wait()
	}
}

// Write writes a message.
func (l *lines) Write(_ context.Context, message jsonrpc.Message) error {
	if response, ok := message.(*jsonrpc.Response); ok {
		defer l.end(response.ID)
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	return l.writeLine(data)
}

func (l *lines) end(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inFlight, id)
	l.freed.Broadcast()
}

func (l *lines) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.writeLine(data)
}

func (l *lines) writeLine(data []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(data, '\n'))
	return err
}

// Close ends the connection. A pending read from a terminal or a pipe may remain until the process ends.
func (l *lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.freed.Broadcast()
	l.mu.Unlock()
	return l.close()
}
