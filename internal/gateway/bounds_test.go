package gateway

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a door without a socket: in a bubble of testing/synctest time passes by itself.
func (r *rig) pipes() (*door, net.Conn) {
	d := r.g.newDoor(spec2("run"), untilOf(spec2("run")))
	child, ours := net.Pipe()
	d.running.Go(func() {
		defer ours.Close()
		d.serve(ours)
	})
	return d, child
}

// TestAChildThatStalls: it keeps its own connection for a bounded time, and nothing else.
func TestAChildThatStalls(t *testing.T) {
	for name, test := range map[string]struct {
		begin string
		after time.Duration
	}{
		"in the head": {"POST /v1/messages HTTP/1.1\r\nHost: local", toHead},
		"in the body": {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", toSend},
		"in a chunk":  {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7f\r\n{", toSend},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := bare(t, "http://127.0.0.1:1")
				begun := time.Now()
				d, child := r.pipes()
				io.WriteString(child, test.begin)
				response, err := http.ReadResponse(bufio.NewReader(child), nil)
				if err != nil || response.StatusCode != http.StatusRequestTimeout {
					t.Fatalf("%v, %v", response, err)
				}
				response.Body.Close()
				if took := time.Since(begun); took != test.after {
					t.Errorf("it took %s", took)
				}
				io.Copy(io.Discard, child)
				child.Close()
				d.running.Wait()
			})
		})
	}
}

// TestAChildThatOnlyConnects is let go after a while.
func TestAChildThatOnlyConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bare(t, "http://127.0.0.1:1")
		begun := time.Now()
		d, child := r.pipes()
		io.Copy(io.Discard, child)
		if took := time.Since(begun); took != toRest {
			t.Errorf("it took %s", took)
		}
		d.running.Wait()
	})
}

// TestAChildThatDoesNotRead: the upstream is let go, and what was reserved counts.
func TestAChildThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bare(t, "http://127.0.0.1:1")
		u := r.upstream("claude", "anthropic")
		u.Transport = zeros{}
		r.g.Use([]*Upstream{u}, nil)
		begun := time.Now()
		d, child := r.pipes()
		var request bytes.Buffer
		ask(messages, "hello", true).Write(&request)
		child.Write(request.Bytes())
		d.running.Wait()
		if took := time.Since(begun); took != toTake {
			t.Errorf("it took %s", took)
		}
		child.Close()
		if e := r.event(1); e.Code != "client_gone" || e.Cost.OutputTokens != 100 {
			t.Errorf("the event is %+v", e)
		}
	})
}

// TestAFloodStaysInItsDoor: a child that takes all the connections of its own door keeps no other child waiting.
func TestAFloodStaysInItsDoor(t *testing.T) {
	r := newRig(t)
	r.open(spec("run"))
	other := r.open(spec("other"))
	var flood []net.Conn
	for range maxConnections + 20 {
		flood = append(flood, r.dial("run"))
	}
	defer func() {
		for _, conn := range flood {
			conn.Close()
		}
	}()
	if status, body, err := say(t, other, messages, "hello", false); err != nil || status != 200 {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	d := r.g.doors["run"]
	for len(d.slots) < maxConnections { // the kernel has them all; the door takes them one by one
		if t.Context().Err() != nil {
			t.Fatal("the door does not take its connections")
		}
	}
	for _, conn := range flood[:30] {
		conn.Close()
	}
	if _, err := flood[len(flood)-1].Write([]byte("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(flood[len(flood)-1]), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the last of the flood, when it is its turn: %v, %v", response, err)
	}
	response.Body.Close()
}

// TestBodiesAreBounded: requests that are held at once have a bound, and what is refused gives back what it held.
func TestBodiesAreBounded(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	d := r.g.doors["run"]
	d.bodies.most = 100 << 10
	big := strings.Repeat("a", 200<<10)
	if status, body, err := say(t, c, messages, big, false); err != nil || status != 503 || !strings.Contains(body, "Retry-After: 1") {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	if status, body, err := say(t, c, messages, big[:50<<10], false); err != nil || status != 200 {
		t.Errorf("%d, %v: %.200s", status, err, body)
	}
	r.event(2)
	if held := d.bodies.used.Load() + r.g.bodies.used.Load(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
}
