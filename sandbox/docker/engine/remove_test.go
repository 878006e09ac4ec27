package engine

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAContainerEndsWhileItIsRemoved: the engine wants to kill it, finds that it does not run any more, and calls that an
// error. It is removed all the same. A container that the engine cannot kill is an error.
func TestAContainerEndsWhileItIsRemoved(t *testing.T) {
	for state, want := range map[string]struct {
		asked int
		fails bool
	}{
		`{"State": {"Running": false}}`: {asked: 2},
		`{"State": {"Running": true}}`:  {asked: 1, fails: true},
	} {
		asked := 0
		c := scripted(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete && asked == 0:
				asked++
				http.Error(w, `{"message": "Could not kill running container c, cannot remove - Container c is not running"}`, http.StatusInternalServerError)
			case r.Method == http.MethodDelete:
				asked++
				w.WriteHeader(http.StatusNoContent)
			case strings.HasSuffix(r.URL.Path, "/containers/c/json"):
				w.Write([]byte(state))
			}
		})
		if err := c.RemoveAndWait(t.Context(), "c"); (err != nil) != want.fails || asked != want.asked {
			t.Errorf("%s: it was asked %d times, and said %v", state, asked, err)
		}
	}
}

// scripted is a client of an engine that answers as it is told.
func scripted(t *testing.T, answer http.HandlerFunc) *Client {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", MinAPI)
		answer(w, r)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	c, err := Connect(t.Context(), "unix://"+socket, func(string, time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
