package gateway

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
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
func (t *troubles) note(route string, wrong Wrong, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.byRoute[route]
	switch {
	case wrong == "":
		delete(t.byRoute, route)
	case wrong != was.Wrong || text != was.Text:
		t.byRoute[route] = Trouble{Route: route, Wrong: wrong, Text: text, Since: time.Now()}
	}
}

// noteFailure records why no answer came. It ignores a timeout, because a child can make an upstream think for too long.
func (t *troubles) noteFailure(route string, err error) {
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return
	}
	words, wrong := failure(err)
	t.note(route, wrong, words)
}

// noteAnswer records what the status of an answer says about the route. It ignores 5xx and 429, after which the upstream may answer in a moment.
func (t *troubles) noteAnswer(route string, status int) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		t.note(route, WrongCredential, "it refuses the host's credential")
	case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
		t.note(route, "", "")
	}
}

// keep forgets all other routes.
func (t *troubles) keep(routes map[string]*Upstream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byRoute, func(name string, _ Trouble) bool { return routes[name] == nil })
}

// Troubles lists the routes that do not work, sorted by name.
func (g *Gateway) Troubles() []Trouble {
	g.troubles.mu.Lock()
	defer g.troubles.mu.Unlock()
	return slices.SortedFunc(maps.Values(g.troubles.byRoute), func(a, b Trouble) int { return cmp.Compare(a.Route, b.Route) })
}
