package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestAReplyIsBounded (G67): a program that was taken over says more than anybody wants to hear.
func TestAReplyIsBounded(t *testing.T) {
	said := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
		}
		_, err := io.WriteString(w, said)
		piece := strings.Repeat("x", 1<<20)
		for range 1 << 10 {
			if err != nil {
				return
			}
			_, err = io.WriteString(w, piece)
		}
	}))
	defer server.Close()
	client := NewClient("gateway", nil, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	})
	defer client.Close()
	said = `"`
	var into string
	if err := client.Call(t.Context(), http.MethodGet, "/", nil, &into); !errors.Is(err, ErrTooLong) {
		t.Errorf("a reply without an end: %v", err)
	}
	if err := client.Call(t.Context(), http.MethodGet, "/fails", nil, &into); !errors.Is(err, ErrTooLong) {
		t.Errorf("an error without an end: %v", err)
	}
	said = `["one", "`
	if _, err := List[string](t.Context(), client, maxMessage, http.MethodGet, "/"); !errors.Is(err, ErrTooLong) {
		t.Errorf("a list of something without an end: %v", err)
	}
	said = "[" + strings.Repeat("{},", maxListed+1)
	if _, err := List[struct{ Big [1 << 10]byte }](t.Context(), client, maxMessage, http.MethodGet, "/"); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long list of what is short: %v", err)
	}
	said = "[" + strings.Repeat(`"`+strings.Repeat("x", 1<<16)+`",`, 2*maxMessage>>16)
	if _, err := List[string](t.Context(), client, maxMessage, http.MethodGet, "/"); !errors.Is(err, ErrTooLong) {
		t.Errorf("a list that is long: %v", err)
	}
	said = `"one" "two" "`
	stream, err := client.Stream(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, want := range []string{"one", "two"} {
		if err := stream.Next(&into); err != nil || into != want {
			t.Errorf("%q, %v; want %q", into, err, want)
		}
	}
	if err := stream.Next(&into); !errors.Is(err, ErrTooLong) {
		t.Errorf("a message without an end: %v", err)
	}
}

// TestAListThatIsCutOff: List refuses a list whose last bracket is missing, because the program that wrote it was killed.
func TestAListThatIsCutOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.URL.Query().Get("say")
		_, _ = io.WriteString(w, said) // the client may be gone
		_ = http.NewResponseController(w).Flush()
		if !strings.HasSuffix(said, "]") {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	client := NewClient("gateway", nil, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	})
	defer client.Close()
	for text, whole := range map[string]bool{`["one","two"]`: true, `[]`: true, `["one"`: false, `["one",`: false, `["one","tw`: false, `[`: false} {
		if all, err := List[string](t.Context(), client, maxMessage, http.MethodGet, "/?say="+url.QueryEscape(text)); whole != (err == nil) {
			t.Errorf("%s: %q, %v", text, all, err)
		}
	}
}
