package metrics

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// health says whether the watcher is alive: it takes requests, and its schedule and its journal answer. What it waits for, such as an
// engine that is away, is no reason to start it again; held_up says that.
func (m *Metrics) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), askBudget)
	defer cancel()
	if trouble := m.trouble(ctx); trouble != "" {
		http.Error(w, trouble, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (m *Metrics) trouble(ctx context.Context) string {
	select {
	case <-m.source.Ready:
	default:
		return "starting"
	}
	if _, err := m.source.Status(ctx); err != nil {
		return "the watcher does not say how it stands"
	}
	if _, err := m.source.Journal.Outboxes(ctx); err != nil {
		return "the journal does not answer"
	}
	return ""
}

// Local lets through only questions that were meant for this machine: a page that a browser shows may have a name that leads here
// (DNS rebinding), but it cannot send another Host than that name.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "ask for a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
