package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// Trouble describes why a route does not work, as exchanges and trials have shown.
type Trouble struct {
	Route string    `json:"route"`
	Wrong Wrong     `json:"wrong"`
	Text  string    `json:"text"` // for people; the gateway's own words only
	Since time.Time `json:"since"`
}

// ailments holds the troubles of one route, by kind. Only evidence against a kind clears it: any answer proves that the
// upstream can be reached, but not that it accepts the credential or knows the model.
type ailments struct {
	reach, credential, model Trouble // a zero value means no trouble

	tried bool // a trial failed on the credential, so a later trial can prove that it works again
}

// troubles holds the troubles of all routes.
type troubles struct {
	mu      sync.Mutex
	byRoute map[string]ailments
}

// change changes the troubles of one route.
func (t *troubles) change(name string, do func(*ailments)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.byRoute[name]
	do(&a)
	a.tried = a.tried && a.credential != (Trouble{})
	if cmp.Or(a.reach, a.credential, a.model) == (Trouble{}) {
		delete(t.byRoute, name)
		return
	}
	t.byRoute[name] = a
}

// becomes starts a trouble, keeps it if it is of the same kind, or clears it if wrong is "".
func (t *Trouble) becomes(name string, wrong Wrong) {
	switch {
	case wrong == "":
		*t = Trouble{}
	case wrong != t.Wrong:
		*t = Trouble{Route: name, Wrong: wrong, Text: troubleTexts[wrong], Since: time.Now()}
	}
}

// noteFailure records why the gateway got no connection to an upstream. It ignores errors on an open connection, and
// redirects, because a child can provoke both.
func (t *troubles) noteFailure(name string, err error, connected bool) {
	if connected || errors.Is(err, dial.ErrRedirect) {
		return
	}
	_, wrong := failure(err)
	t.change(name, func(a *ailments) { a.reach.becomes(name, wrong) })
}

// noteNoCredential records that the host's credential cannot be had.
func (t *troubles) noteNoCredential(name string) {
	t.change(name, func(a *ailments) {
		a.credential.becomes(name, WrongCredential)
		a.tried = true // a trial needs it, too
	})
}

// noteAnswer learns from the status of an answer. After a 401 from a model's upstream, the credential is refused; after
// a success, it is accepted. Other statuses tell nothing: a child can provoke a 403, and after a 429 or 5xx the next
// request may succeed.
func (t *troubles) noteAnswer(to *route.Route, status int) {
	t.change(to.Name, func(a *ailments) {
		a.reach.becomes(to.Name, "")
		switch {
		case status == http.StatusUnauthorized && to.API != route.Plain:
			a.credential.becomes(to.Name, WrongCredential)
		case status < http.StatusBadRequest:
			a.credential.becomes(to.Name, "")
		}
	})
}

// noteTrial records the result of a trial of a route with all its models. A registry gets no credential, so it cannot
// refuse one. A trial that succeeds clears the credential only if an earlier trial failed on it, because some upstreams
// list their models without checking the credential.
func (t *troubles) noteTrial(to *route.Route, tried Tried) {
	t.change(to.Name, func(a *ailments) {
		if tried.answered {
			a.reach.becomes(to.Name, "")
		}
		switch tried.Wrong {
		case WrongBusy:
		case WrongCredential:
			if to.API != route.Plain {
				a.credential.becomes(to.Name, WrongCredential)
				a.tried = true
			}
		case WrongModel, "":
			a.model.becomes(to.Name, tried.Wrong)
			if a.tried {
				a.credential.becomes(to.Name, "")
			}
		default:
			a.reach.becomes(to.Name, tried.Wrong)
		}
	})
}

// Troubles lists the routes that do not work, sorted by name. For each it gives the trouble that comes first on the way
// to an answer. Routes that were removed are left out, although an exchange may have failed after the removal.
func (g *Gateway) Troubles() (all []Trouble) {
	g.troubles.mu.Lock()
	defer g.troubles.mu.Unlock()
	for name, a := range g.troubles.byRoute {
		if _, ok := g.route(name); ok {
			all = append(all, cmp.Or(a.reach, a.credential, a.model))
		}
	}
	slices.SortFunc(all, func(a, b Trouble) int { return cmp.Compare(a.Route, b.Route) })
	return all
}
