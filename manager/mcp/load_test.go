package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"torno/delegation"
	"torno/manager"
	tests "torno/test/wait"
)

// TestAThousandCallsAtOnce: each is answered, whatever the client does not read meanwhile.
func TestAThousandCallsAtOnce(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	go func() {
		for i := range 1000 {
			if _, err := fmt.Fprintf(p.to, `{"jsonrpc":"2.0","id":"s%d","method":"tools/call","params":{"name":"status","arguments":{}}}`+"\n", i); err != nil {
				return
			}
		}
	}()
	seen := map[string]bool{}
	for range 1000 {
		r := p.hear()
		if r.Error != nil || strings.Contains(string(r.Result), `"isError":true`) {
			t.Fatalf("%s: %v %s", r.ID, r.Error, r.Result)
		}
		seen[string(r.ID)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d of 1000 calls were answered", len(seen))
	}
	if files := s.files(); files != "[request_a.json taken workspaces]" {
		t.Errorf("the outbox has %s", files)
	}
}

// TestNoMoreIsReadThanIsAtWork: what is not read stays with the client, so that calls take no memory of ours.
func TestNoMoreIsReadThanIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		l := newLines(in, io.Discard, func() {})
		var read []jsonrpc.ID
		go func() {
			for {
				message, err := l.Read(context.Background())
				if err != nil {
					return
				}
				read = append(read, message.(*jsonrpc.Request).ID)
			}
		}()
		go func() {
			for i := range 10 * maxInFlight {
				fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
			}
			to.Close()
		}()
		synctest.Wait()
		if len(read) != maxInFlight {
			t.Errorf("%d calls were read, want %d", len(read), maxInFlight)
		}
		for done := 0; done < 10*maxInFlight; done++ {
			if err := l.Write(context.Background(), &jsonrpc.Response{ID: read[done], Result: json.RawMessage("{}")}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if most := min(done+1+maxInFlight, 10*maxInFlight); len(read) != most {
				t.Fatalf("after %d answers %d calls were read, want %d", done+1, len(read), most)
			}
		}
	})
}

// TestWaitsAreBounded: waits hold no place of other calls, and too many of them are told so.
func TestWaitsAreBounded(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	for i := range maxWaits + 3 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","method":"tools/call","params":{"name":"wait","arguments":{"ids":["a"]}}}`, i))
	}
	for range 3 {
		if r := p.hear(); !strings.Contains(string(r.Result), "too_many_waits") {
			t.Errorf("%s: %s", r.ID, r.Result)
		}
	}
	p.tool("status", `{}`)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
	for range maxWaits {
		if r := p.hear(); !strings.Contains(string(r.Result), `"untrusted_answer":"yes"`) {
			t.Errorf("%s: %s", r.ID, r.Result)
		}
	}
}

// TestACancelledWaitEndsNoChild: the client says that it does not wait any more, and the child goes on.
func TestACancelledWaitEndsNoChild(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	p.server.mostWait = time.Hour // longer than a call may take
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	p.begin("w", "wait", `{"ids":["a"],"seconds":3600}`)
	waitFor(t, func() bool { return len(p.server.waits) == 1 })
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w","reason":"timed out"}}`)
	if r := p.hear(); !strings.Contains(string(r.Result), `"code":"cancelled"`) {
		t.Errorf("it waited on, or does not say why: %s", r.Result)
	}
	if files := s.files(); files != "[request_a.json taken workspaces]" {
		t.Errorf("the outbox has %s", files)
	}
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
	if r := p.tool("wait", `{}`); !strings.Contains(string(r.Struct), "yes") {
		t.Errorf("%s", r.Struct)
	}
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(tests.Patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that")
		}
		<-time.After(time.Millisecond)
	}
}

// TestAClientThatDies: in the middle of a wait, or right after a result went out. The children go on, and the next client finds all.
func TestAClientThatDies(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	p.server.mostWait = time.Hour // longer than a call may take
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"},{"id":"b","task":"y"}]}`)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "first")
	p.tool("wait", `{}`)
	p.begin("w", "wait", `{"ids":["b"],"seconds":3600}`)
	waitFor(t, func() bool { return len(p.server.waits) == 1 })
	p.to.Close()
	if r := p.hear(); !strings.Contains(string(r.Result), "the client has ended") {
		t.Errorf("the server waited on: %s", r.Result)
	}
	p.leave()
	// It had asked for more after the first result, so it had that.
	if files := s.files(); files != "[request_b.json taken workspaces]" {
		t.Errorf("the outbox has %s", files)
	}
	s.end("b", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "second")
	q := s.serve(Options{})
	if r := q.tool("wait", `{"ids":["a","b"],"until":"all"}`); !strings.Contains(string(r.Struct), "first") || !strings.Contains(string(r.Struct), "second") {
		t.Errorf("%s", r.Struct)
	}
	q.leave()
	if files := s.files(); files != "[request_b.json response_b.json taken workspaces]" {
		t.Errorf("a result that the client was not seen to have is gone: %s", files)
	}
}

// TestANotificationProvesNothing: a client that gives a call up may drop its answer, so the result stays for the next one,
// also if the client asks for something else.
func TestANotificationProvesNothing(t *testing.T) {
	for _, asks := range []bool{false, true} {
		s := newStage(t)
		s.beat(nil)
		p := s.serve(Options{})
		p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
		s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "yes")
		p.tool("wait", `{}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w","reason":"timed out"}}`)
		if asks {
			p.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
			p.hear()
		}
		p.leave()
		if files := s.files(); !strings.Contains(files, "response_a.json") {
			t.Errorf("it asks for more: %t; the outbox has %s", asks, files)
		}
	}
}

// TestAClientThatLeavesInOrder has all that went out.
func TestAClientThatLeavesInOrder(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"},{"id":"b","task":"y"}]}`)
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "first")
	p.tool("wait", `{}`)
	p.stop() // as with the signal by which clients end their servers
	if err := <-p.served; err != nil {
		t.Error(err)
	}
	p.to.Close()
	p.to = nil
	if files := s.files(); files != "[request_b.json taken workspaces]" {
		t.Errorf("the outbox has %s", files)
	}
}

// TestWhatWasAskedBeforeTheEndIsAnswered: a script writes its calls and ends its output.
func TestWhatWasAskedBeforeTheEndIsAnswered(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	defer m.Close()
	server, err := New(m, Options{Env: func(string) string { return "" }})
	s.check(err)
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"status","arguments":{}}}` + "\n"
	input := hello + "\n" + fmt.Sprintf(call, 2) + strings.TrimSpace(fmt.Sprintf(call, 3)) // the last line has no end
	var out strings.Builder
	s.check(server.Serve(t.Context(), strings.NewReader(input), &out))
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d of 3 answers came:\n%s", n, out.String())
	}
}

// TestTwoServersOnOneOutbox: each has its own children, both can have each other's, and what one takes the other still reads.
func TestTwoServersOnOneOutbox(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p, q := s.serve(Options{Fresh: -1}), s.serve(Options{Fresh: -1})
	p.tool("delegate", `{"tasks":[{"id":"a","task":"x"}]}`)
	if r := q.tool("delegate", `{"tasks":[{"id":"a","task":"y"}]}`); !r.IsError || !strings.Contains(string(r.Struct), "outstanding") {
		t.Errorf("%s", r.Struct)
	}
	if r := q.tool("wait", `{}`); !strings.Contains(string(r.Struct), "nothing_to_wait_for") {
		t.Errorf("%s", r.Struct)
	}
	q.send(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait","arguments":{"ids":["a"]}}}`)
	waitFor(t, func() bool { return len(q.server.waits) == 1 })
	s.end("a", delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "for both")
	if r := q.hear(); !strings.Contains(string(r.Result), "for both") {
		t.Errorf("%s", r.Result)
	}
	if r := p.tool("wait", `{}`); !strings.Contains(string(r.Struct), "for both") {
		t.Errorf("%s", r.Struct)
	}
	p.tool("status", `{}`)
	p.leave()
	if r := q.tool("read", `{"id":"a"}`); !strings.Contains(string(r.Struct), "for both") {
		t.Errorf("%s", r.Struct)
	}
	if r := q.tool("status", `{"ids":["a"]}`); !strings.Contains(string(r.Struct), `"ended"`) {
		t.Errorf("%s", r.Struct)
	}
	if files := s.files(); files != "[taken workspaces]" {
		t.Errorf("the outbox has %s", files)
	}
}

// TestAToolIsOfferedWhereTheWatcherHasItsPart: with an older watcher it is not listed, and a call says why.
func TestAToolIsOfferedWhereTheWatcherHasItsPart(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	later := tool{name: "later", about: "Later.", input: `{"type":"object"}`, feature: "later", call: does(func(context.Context, *Server, struct{}) (answer, error) {
		return cancelled{Next: "it was done"}, nil
	})}
	p.server.set.tools = append(slices.Clone(p.server.set.tools), later)
	p.server.addTool(&later)
	listed := func() bool { return strings.Contains(string(p.ask("tools/list", "{}").Result), `"later"`) }
	if listed() {
		t.Error("it is listed, and the watcher has no part for it")
	}
	if r := p.tool("later", `{}`); !r.IsError || !strings.Contains(string(r.Struct), "not_offered") {
		t.Errorf("%s", r.Struct)
	}
	s.beat(func(b *delegation.Heartbeat) { b.Features = append(b.Features, "later", "much later") })
	if !listed() {
		t.Error("it is not listed")
	}
	if r := p.tool("later", `{}`); r.IsError {
		t.Errorf("%s", r.Struct)
	}
}

// TestAWatcherOfAnotherProtocol serves nobody who does not know it.
func TestAWatcherOfAnotherProtocol(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	data, err := os.ReadFile(filepath.Join(s.path, delegation.HeartbeatName))
	s.check(err)
	later := strings.Replace(string(data), `"version":1`, `"version":2`, 1)
	if later == string(data) {
		later = strings.Replace(string(data), `"version": 1`, `"version": 2`, 1)
	}
	s.check(s.dir.Publish(delegation.HeartbeatName, []byte(later)))
	p := s.serve(Options{})
	for _, call := range []string{"delegate", "status"} {
		arguments := map[string]string{"delegate": `{"tasks":[{"task":"x"}]}`, "status": `{}`}[call]
		if r := p.tool(call, arguments); !strings.Contains(string(r.Struct), "version: 2") {
			t.Errorf("%s: %s", call, r.Struct)
		}
	}
	if files := s.files(); files != "[]" {
		t.Errorf("the outbox has %s", files)
	}
}
