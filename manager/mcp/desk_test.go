package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"torno/manager"
)

// TestWhatWasBegunIsSaidToBe, also where it cannot be found right afterwards: a model that hears of a failure begins it again.
func TestWhatWasBegunIsSaidToBe(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	p := s.serve(Options{})
	var made *manager.Run
	begun, err := (&Desk{s: p.server}).begin(t.Context(), Task{ID: "a", Text: "x"}, func(ctx context.Context, o manager.SpawnOptions) (run *manager.Run, err error) {
		made, err = p.manager.Spawn(ctx, o)
		s.check(err)
		return made, made.Withdraw()
	})
	if err != nil || begun.SubagentID != "a" || begun.RequestID != made.RequestID() || len(begun.Warnings) == 0 {
		t.Errorf("%+v, %v", begun, err)
	}
}

// TestSessionsAreToldApart: on a port there may be several.
func TestSessionsAreToldApart(t *testing.T) {
	who := Tool{Name: "who", Input: `{"type":"object"}`, Call: func(ctx context.Context, desk *Desk, _ json.RawMessage) (*Page, error) {
		return desk.Page().Printf("you are %q", desk.Session(ctx)), nil
	}}
	p := newStage(t).servePortWith(Options{Set: "x", Sets: []Set{{Name: "x", Tools: []Tool{who}}}})
	seen := map[string]bool{}
	for range 2 {
		_, _, header := p.post(hello, nil)
		for range 2 {
			_, text, _ := p.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who","arguments":{}}}`, func(r *http.Request) {
				r.Header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
			})
			_, name, _ := strings.Cut(text, "you are")
			seen[name] = true
		}
	}
	if len(seen) != 2 || seen[""] {
		t.Errorf("two sessions are %v", seen)
	}
}

// TestAResultIsOfTheRunThatWasSeen, and not of the next one of the same child.
func TestAResultIsOfTheRunThatWasSeen(t *testing.T) {
	s := newStage(t)
	s.beat(nil)
	desk := &Desk{s: s.serve(Options{}).server}
	s.spawn("a")
	s.do("ends", []string{"a", "completed", "exited", "0", "one"})
	seen, err := desk.Look("a")
	s.check(err)
	if result, err := desk.Result(seen, 2); err != nil || result.Answer != "on" {
		t.Errorf("%q, %v", result.Answer, err)
	}
	s.take("a")
	if kept, err := desk.Look("a"); err != nil || !kept.Taken || !kept.Ended() {
		t.Errorf("%+v, %v", kept, err)
	}
	s.spawn("a")
	s.do("ends", []string{"a", "completed", "exited", "0", "two"})
	if _, err := desk.Result(seen, 10); !errors.Is(err, manager.ErrSuperseded) {
		t.Error("of the run before:", err)
	}
}
