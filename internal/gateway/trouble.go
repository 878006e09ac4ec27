package gateway

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// Trouble describes why the upstream of a route did not answer the last exchange or trial.
type Trouble struct {
	Route string    `json:"route"`
	Wrong Wrong     `json:"wrong"`
	Text  string    `json:"text"` // for people, in words of ours alone
	Since time.Time `json:"since"`
}

// troubles keeps the routes that do not work.
type troubles struct {
	mu      sync.Mutex
	byRoute map[string]Trouble
}

// note records what is wrong with a route, or with "" that it works.
func (t *troubles) note(route string, wrong Wrong) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case wrong == "":
		delete(t.byRoute, route)
	case wrong != t.byRoute[route].Wrong:
		t.byRoute[route] = Trouble{Route: route, Wrong: wrong, Text: inShort[wrong], Since: time.Now()}
	}
}

// noteFailure records why no answer came. It ignores what a child can cause: that an upstream thinks for too long about a request that it has, or
// redirects it.
func (t *troubles) noteFailure(route string, err error, sent bool) {
	slow, ok := errors.AsType[net.Error](err)
	if sent && ok && slow.Timeout() || errors.Is(err, dial.ErrRedirect) {
		return
	}
	_, wrong := failure(err)
	t.note(route, wrong)
}

// noteAnswer records what the status of an answer says about the route to a model. It ignores 403, 429 and 5xx: a child can cause the first by
// what it asks for, and after the others the upstream may answer in a moment.
func (t *troubles) noteAnswer(to *route.Route, status int) {
	switch {
	case status == http.StatusUnauthorized && to.API != route.Plain:
		t.note(to.Name, WrongCredential)
	case status < http.StatusBadRequest:
		t.note(to.Name, "")
	}
}

// noteTrial records what a trial found. That an upstream is busy says nothing, and a registry has no credential to be refused.
func (t *troubles) noteTrial(to *route.Route, wrong Wrong) {
	if wrong == WrongBusy || wrong == WrongCredential && to.API == route.Plain {
		return
	}
	t.note(to.Name, wrong)
}

// Troubles lists the routes that do not work, sorted by name. An exchange may have failed after its route was taken away.
func (g *Gateway) Troubles() (all []Trouble) {
	g.troubles.mu.Lock()
	defer g.troubles.mu.Unlock()
	for _, t := range g.troubles.byRoute {
		if _, ok := g.route(t.Route); ok {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Trouble) int { return cmp.Compare(a.Route, b.Route) })
	return all
}
