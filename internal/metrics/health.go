package metrics

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// health tells whether the watcher is alive: it takes requests, and its schedule and its journal answer. A watcher that
// waits for something, such as an engine that is away, still counts as alive, because a restart would not help. The
// metric held_up shows that it waits.
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
		return "the watcher does not report its status"
	}
	if _, err := m.source.Journal.Outboxes(ctx); err != nil {
		return "the journal does not answer"
	}
	return ""
}

// Local lets only those requests through whose Host is this machine. A web page in a browser may have a name that leads
// here (DNS rebinding), but the browser then sends that name as the Host.
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
