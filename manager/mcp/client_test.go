package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"torno/manager"
	tests "torno/test/wait"
)

// peer is a client that speaks in lines, as a program on the other side of two pipes does.
type peer struct {
	testing.TB
	server  *Server
	to      io.WriteCloser
	from    *bufio.Reader
	cut     func(error) error // ends what the server says
	last    int
	served  chan error
	stop    context.CancelFunc
	manager *manager.Manager
}

// serve starts a server and a client of it, which has said hello.
func (s *stage) serve(o Options) *peer {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	o.Env = func(name string) string { return s.env[name] }
	server, err := New(m, o)
	s.check(err)
	p := s.client(server.Serve)
	p.server, p.manager = server, m
	s.Cleanup(func() { p.leave(); m.Close() })
	p.greet()
	return p
}

// client starts what serves a client at the other end of two pipes.
func (s *stage) client(serve func(context.Context, io.Reader, io.Writer) error) *peer {
	in, to := io.Pipe()
	from, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	p := &peer{TB: s.TB, to: to, from: bufio.NewReaderSize(from, 1<<20), cut: out.CloseWithError, served: make(chan error, 1), stop: stop}
	go func() {
		p.served <- serve(ctx, in, out)
		out.Close()
	}()
	return p
}

// greet says hello.
func (p *peer) greet() {
	p.Helper()
	p.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// leave ends the client's input, and waits for the server's end.
func (p *peer) leave() {
	p.Helper()
	if p.to == nil {
		return
	}
	p.to.Close()
	p.to = nil
	go func() { _, _ = io.Copy(io.Discard, p.from) }()
	if err := <-p.served; err != nil {
		p.Error("the server ended with", err)
	}
	p.stop()
}

func (p *peer) send(line string) {
	p.Helper()
	if _, err := io.WriteString(p.to, line+"\n"); err != nil {
		p.Fatal(err)
	}
}

// begin calls a tool and does not wait for its answer.
func (p *peer) begin(id, name, arguments string) {
	p.Helper()
	const call = `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`
	p.send(fmt.Sprintf(call, id, name, arguments))
}

// reply is what comes back.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
	Method string `json:"method"`
}

// hear returns the next answer; news of the server's are passed over.
func (p *peer) hear() (r reply) {
	p.Helper()
	late := time.AfterFunc(tests.Patience, func() { _ = p.cut(errors.New("the server does not answer")) })
	defer late.Stop()
	for {
		line, err := p.from.ReadBytes('\n')
		if err != nil {
			p.Fatal(err)
		}
		r = reply{}
		if err := json.Unmarshal(line, &r); err != nil {
			p.Fatalf("%v in %q", err, line)
		}
		if r.Method == "" {
			return r
		}
	}
}

func (p *peer) ask(method, params string) reply {
	p.Helper()
	p.last++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.last, method, params))
	r := p.hear()
	if string(r.ID) != fmt.Sprint(p.last) {
		p.Fatalf("the answer has the id %s, want %d", r.ID, p.last)
	}
	return r
}

// said is the result of a tool.
type said struct {
	Content []struct{ Type, Text string }
	Struct  json.RawMessage `json:"structuredContent"`
	IsError bool
}

func (p *peer) tool(name, arguments string) said {
	p.Helper()
	r := p.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	if r.Error != nil {
		p.Fatalf("%s %s: %s", name, arguments, r.Error.Message)
	}
	var result said
	if err := json.Unmarshal(r.Result, &result); err != nil {
		p.Fatal(err)
	}
	return result
}
