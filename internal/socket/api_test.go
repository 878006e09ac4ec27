package socket

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// TestNothingIsAnsweredBehindTheEnd: what an answer uses is closed when the server has ended, so it waits for answers under way.
func TestNothingIsAnsweredBehindTheEnd(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir, "s", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	asked, release, returned := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	answer := func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		<-release
	}
	go func() {
		returned <- ServeAPI(ctx, listener, dir, "s", http.HandlerFunc(answer), slog.New(slog.DiscardHandler))
	}()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}}}
	go func() {
		if resp, err := client.Get("http://s/"); err == nil {
			resp.Body.Close()
		}
	}()
	<-asked
	cancel()
	select {
	case <-returned:
		close(release)
		t.Fatal("it has returned while a request was answered")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-returned; err != nil {
		t.Error(err)
	}
}
