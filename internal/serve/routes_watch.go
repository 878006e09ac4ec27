package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"torno/internal/gateway/control"
	"torno/internal/retry"
)

// routesWatch tells operators and clients which routes of the model gateway do not work. When it first sees a gateway
// process, it makes the gateway try all routes. After that it makes the gateway try the broken ones again, at growing
// intervals. A trial costs nothing.
type routesWatch struct {
	host  *host
	try   chan trial   // from looked to run
	tried atomic.Int64 // the last gateway process that has tried all its routes

	// Only looked uses these.
	process int
	told    map[string]string // by route: the trouble that was logged last
	over    func()            // takes the notice back
	tries   int
	next    time.Time
}

// trial names the routes that a gateway process is to try.
type trial struct {
	process int
	names   []string
}

func newRoutesWatch(h *host) *routesWatch {
	return &routesWatch{host: h, try: make(chan trial, 1)}
}

// untried reports whether the gateway process has not tried all its routes yet. Until then a route without a trouble is
// not known to work.
func (w *routesWatch) untried() bool { return w.tried.Load() != int64(w.process) }

// looked handles a status of the gateway.
func (w *routesWatch) looked(status control.Status) {
	if status.Process != w.process {
		w.process, w.tries = status.Process, 0
		w.ask(status.Routes)
	}
	w.tell(status.Troubles)
	switch {
	case len(status.Troubles) == 0:
		w.tries = 0
	case !w.untried() && time.Now().After(w.next):
		w.tries++
		w.next = time.Now().Add(retry.Backoff(w.tries))
		names := make([]string, len(status.Troubles))
		for i, t := range status.Troubles {
			names[i] = t.Route
		}
		w.ask(names)
	}
}

// ask makes run try some routes. They replace routes that still wait for run.
func (w *routesWatch) ask(names []string) {
	select {
	case <-w.try:
	default:
	}
	w.try <- trial{w.process, names}
}

// tell logs routes that broke or recovered, and raises or withdraws the notice.
func (w *routesWatch) tell(troubles []control.Trouble) {
	now := map[string]string{}
	for _, t := range troubles {
		now[t.Route] = t.Text
		if w.told[t.Route] != t.Text {
			w.host.Log.Warn("a route does not work, and the agents that need it fail; `watcher check --try` says more", "route", t.Route, "upstream", t.Text)
		}
	}
	for route, text := range w.told {
		switch _, still := now[route]; {
		case still:
		case w.untried():
			now[route] = text
		default:
			w.host.Log.Info("a route works again", "route", route)
		}
	}
	switch {
	case len(w.told) == 0 && len(now) > 0:
		w.over = w.host.watcher.RouteFails()
	case len(w.told) > 0 && len(now) == 0:
		w.over()
	}
	w.told = now
}

// run tries routes until ctx is done.
func (w *routesWatch) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-w.try:
			w.tryAll(ctx, t.names)
			w.tried.Store(int64(t.process))
		}
	}
}

func (w *routesWatch) tryAll(ctx context.Context, names []string) {
	var around sync.WaitGroup
	for _, name := range names {
		around.Go(func() {
			if _, err := w.host.gateway.Try(ctx, name, ""); err != nil && ctx.Err() == nil {
				w.host.Log.Debug("a route cannot be tried", "route", name, "error", err)
			}
		})
	}
	around.Wait()
}
