package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/control"
)

// TestNumbersAreShown: at the control socket, and at the loopback address that the configuration names.
func TestNumbersAreShown(t *testing.T) {
	s := newShop(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	s.must(err)
	s.config.Metrics = listener.Addr().String()
	s.must(listener.Close())
	s.open()
	s.ask("s1", "echo hello")
	s.answer("s1")
	socket := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.config.State, control.SocketName))
	}}}
	tcp := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, ask := range map[string]func(path string) string{
		"socket":  func(path string) string { return s.get(socket, "http://watcher"+path) },
		"address": func(path string) string { return s.get(tcp, "http://"+s.config.Metrics+path) },
	} {
		want := `torno_runs_ended_total{outbox="` + s.config.Outboxes[0].Name + `",profile="default",reason="exited"} 1`
		s.eventually("the "+name+" shows the end", func() bool { return strings.Contains(ask("/metrics"), want) })
		if got := ask("/healthz"); got != "ok\n" {
			t.Errorf("%s says %q", name, got)
		}
	}
	if text := s.get(tcp, "http://"+s.config.Metrics+"/v1/status"); strings.Contains(text, "installation") {
		t.Errorf("the address shows the operator's door: %s", text)
	}
}

// get is an answer's text, "" while nothing answers.
func (s *shop) get(client *http.Client, url string) string {
	answer, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	return string(text)
}
