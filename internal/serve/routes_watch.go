package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"torno/internal/gateway/control"
	"torno/internal/retry"
)

// routesWatch tells operators and clients which routes of the model gateway do not work. It has the gateway try all routes when a gateway
// process is seen for the first time, and those that do not work again and again, ever more slowly: a trial costs nothing.
type routesWatch struct {
	host    *host
	try     chan []string // for run; looked alone sends
	untried atomic.Bool   // the process has not tried all routes yet, so that a route without trouble is not known to work

	// Of looked alone.
	process int
	told    map[string]string // by route: what is wrong, as it was said last
	over    func()            // takes the notice back
	tries   int
	next    time.Time
}

func newRoutesWatch(h *host) *routesWatch {
	return &routesWatch{host: h, try: make(chan []string, 1)}
}

// looked takes what the gateway says at each look.
func (w *routesWatch) looked(status control.Status) {
	if status.Process != w.process {
		w.process, w.tries = status.Process, 0
		w.untried.Store(true)
		w.ask(status.Routes)
	}
	w.tell(status.Troubles)
	switch {
	case len(status.Troubles) == 0:
		w.tries = 0
	case !w.untried.Load() && time.Now().After(w.next):
		w.tries++
		w.next = time.Now().Add(retry.Backoff(w.tries))
		names := make([]string, len(status.Troubles))
		for i, t := range status.Troubles {
			names[i] = t.Route
		}
		w.ask(names)
	}
}

// ask has run try some routes, in the place of others that still wait for it.
func (w *routesWatch) ask(names []string) {
	select {
	case <-w.try:
	default:
	}
	w.try <- names
}

// tell says what has changed.
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
		case w.untried.Load():
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
		case names := <-w.try:
			w.tryAll(ctx, names)
			w.untried.Store(false)
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
