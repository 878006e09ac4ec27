package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"torno/internal/socket"
	"torno/sandbox"
)

// hostileRefs are references as an attacker names his entries: an entry that was refused goes by the name of its file.
var hostileRefs = []string{
	"", "s1", "main/s1", ".", "..", "../x", "a/../b", "a/./b", "a//b", "/a", "//a", "a/", "main/..", "main/.", "a b", "a?all=1", "a#b", "a%2fb", "a%2e%2e", "%", "%zz", "a\nb", "a\x00b", "a\xff", "ü",
	"\u2028", "\u202e", "a;b", "a&b=c", "{ref...}", "\\", "a\\..\\b", "v1/status", "http://x/", "x:y@z", "*", "+", "~",
}

// FuzzReference: a run is asked for, cancelled and followed by exactly the name that the operator gave.
func FuzzReference(f *testing.F) {
	for _, ref := range hostileRefs {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		d := &desk{run: Run{Key: "k1"}}
		client := &Client{socket.ClientOver("watcher", failures, handled{Handler(d)})}
		for what, ask := range map[string]func() error{
			"shown":     func() error { _, err := client.Run(t.Context(), ref); return err },
			"cancelled": func() error { _, err := client.Cancel(t.Context(), ref); return err },
			"followed":  func() error { return client.Output(t.Context(), ref, true, func(Output) error { return nil }) },
		} {
			d.ref = "nobody was asked"
			if err := ask(); err != nil || d.ref != ref {
				t.Errorf("%q is %s as %q (%v)", ref, what, d.ref, err)
			}
		}
		want := Query{All: true, Outbox: ref, Limit: len(ref)}
		if _, err := client.Runs(t.Context(), want); err != nil || d.seen != want {
			t.Errorf("the query %+v is seen as %+v (%v)", want, d.seen, err)
		}
	})
}

// handled is a connection that is none.
type handled struct{ http.Handler }

func (h handled) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	// As a server reads it: by its text.
	var text strings.Builder
	if err := request.Write(&text); err != nil {
		return nil, err
	}
	received, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text.String())))
	if err != nil {
		return nil, fmt.Errorf("%q is no request: %w", text.String(), err)
	}
	h.ServeHTTP(answer, received.WithContext(request.Context()))
	response := answer.Result()
	response.Request = request
	return response, nil
}

// watchful is a Service that counts what changes something.
type watchful struct {
	desk
	cancelled, accepted int
}

func (w *watchful) Accept(ctx context.Context, outbox string, as Identity) (Accepted, error) {
	w.accepted++
	return w.desk.Accept(ctx, outbox, as)
}

func (w *watchful) Cancel(ctx context.Context, ref string) (Run, error) {
	w.cancelled++
	return w.desk.Cancel(ctx, ref)
}

// FuzzHandler writes any text to the door. Only a POST ends a run or accepts an outbox, and every answer is JSON with a status of HTTP's.
func FuzzHandler(f *testing.F) {
	for _, line := range []string{
		"GET /v1/status", "GET /v1/runs?all=1&limit=5&outbox=a", "GET /v1/runs?limit=-1", "GET /v1/runs?limit=1e9&limit=2", "GET /v1/runs/s1", "POST /v1/cancel/s1", "GET /v1/cancel/s1", "POST /v1/accept/main?as=new", "GET /v1/accept/main?as=new",
		"GET /v1/output/s1?follow=1", "DELETE /v1/runs/s1", "HEAD /v1/cancel/s1", "GET /v1/runs/../cancel/s1", "POST /v1//cancel/../cancel/s1", "CONNECT /v1/cancel/s1", "OPTIONS *", "GET /", "GET /v2/status",
		"POST http://other/v1/cancel/s1", "GET /v1/runs/%2e%2e%2f", "GET /v1/output/s1?follow=%zz", "GET /v1/runs?%zz", "POST /v1/cancel/%00",
	} {
		f.Add(line+" HTTP/1.1\r\nHost: watcher\r\n\r\n", 0)
		f.Add(line+" HTTP/1.0\r\nX-HTTP-Method-Override: POST\r\nContent-Length: 9\r\n\r\nlimit=5&x", 3)
	}
	f.Fuzz(func(t *testing.T, text string, fault int) {
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		w := &watchful{}
		w.said = []Output{{Stream: sandbox.Stdout, Bytes: []byte("x")}}
		if fault != 0 {
			w.said, w.err = nil, fmt.Errorf("%w: %q", []error{ErrNoRun, ErrAmbiguous, ErrEnded, errors.New("boom")}[uint(fault)%4], text)
		}
		answer := httptest.NewRecorder()
		Handler(w).ServeHTTP(answer, request)
		if w.cancelled > 1 || w.cancelled == 1 && request.Method != http.MethodPost {
			t.Errorf("%q ended %d runs", text, w.cancelled)
		}
		if w.accepted > 1 || w.accepted == 1 && request.Method != http.MethodPost {
			t.Errorf("%q accepted %d outboxes", text, w.accepted)
		}
		checkAnswer(t, answer.Result())
	})
}

func checkAnswer(t *testing.T, answer *http.Response) {
	t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode < 200 || answer.StatusCode > 599 {
		t.Fatalf("%d, %v", answer.StatusCode, err)
	}
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		return // the multiplexer's own: not found, not allowed, moved
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil || !utf8.Valid(body) {
		t.Errorf("%d with %q: %v", answer.StatusCode, body, err)
	}
	if failure, ok := value.(map[string]any); answer.StatusCode != http.StatusOK && (!ok || failure["error"] == "") {
		t.Errorf("%d with %q", answer.StatusCode, body)
	}
}
