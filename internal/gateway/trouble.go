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

// Trouble is what keeps the upstream of a route from answering, as far as the last exchange or trial shows.
type Trouble struct {
	Route string    `json:"route"`
	Wrong Wrong     `json:"wrong"`
	Text  string    `json:"text"` // for people, in words of ours alone
	Since time.Time `json:"since"`
}

// troubles has the routes that are in trouble.
type troubles struct {
	mu      sync.Mutex
	byRoute map[string]Trouble
}

// note takes down what is wrong with a route, "" for nothing.
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

// noteFailure takes down why no answer came. A child can bring about that an upstream thinks for too long, so silence says nothing of the route.
func (t *troubles) noteFailure(route string, err error) {
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return
	}
	words, wrong := failure(err)
	t.note(route, wrong, words)
}

// noteAnswer takes down what an answer says of the route. An upstream that cannot answer now may be able to again in a moment.
func (t *troubles) noteAnswer(route string, status int) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		t.note(route, WrongCredential, "it refuses the host's credential")
	case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
		t.note(route, "", "")
	}
}

// keep drops the routes that are not there any more.
func (t *troubles) keep(routes map[string]*Upstream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byRoute, func(name string, _ Trouble) bool { return routes[name] == nil })
}

// Troubles are those of the routes that there are, in the order of their names.
func (g *Gateway) Troubles() []Trouble {
	g.troubles.mu.Lock()
	defer g.troubles.mu.Unlock()
	return slices.SortedFunc(maps.Values(g.troubles.byRoute), func(a, b Trouble) int { return cmp.Compare(a.Route, b.Route) })
}
