package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"torno/manager"
)

// listing caches the children of the outbox for a moment, and the status overview of them all, because models ask
// often.
type listing struct {
	fresh time.Duration // how old the list may be

	mu       sync.Mutex
	at       time.Time // when the listing began; zero if there is none
	list     manager.Listing
	overview *encoded // made from list, when the first call asks for it
}

// defaultFresh is much shorter than the time that a model takes between two calls.
const defaultFresh = 50 * time.Millisecond

// list returns the children of the outbox, as of a moment ago. Callers that ask at the same time share one look.
func (s *Server) list(ctx context.Context) (manager.Listing, error) {
	s.listing.mu.Lock()
	defer s.listing.mu.Unlock()
	err := s.listing.look(ctx, s.m)
	return s.listing.list, err
}

// overview returns the status of all children, as of the same moment. It is made and encoded once per listing.
func (s *Server) overview(ctx context.Context) (answer, error) {
	l := &s.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.look(ctx, s.m); err != nil {
		return nil, err
	}
	if l.overview == nil {
		made, err := encodeAnswer(s.overviewOf(l.list))
		if err != nil {
			return nil, err
		}
		l.overview = made
	}
	return l.overview, nil
}

// look lists the children anew unless the last listing is fresh. The caller holds mu.
func (l *listing) look(ctx context.Context, m *manager.Manager) error {
	if !l.at.IsZero() && time.Since(l.at) < l.fresh {
		return nil
	}
	at := time.Now()
	list, err := m.List(ctx)
	if err != nil {
		l.at, l.list, l.overview = time.Time{}, manager.Listing{}, nil
		return err
	}
	l.at, l.list, l.overview = at, list, nil
	return nil
}

// changed makes the next call look again, after we have changed something.
func (s *Server) changed() {
	s.listing.mu.Lock()
	defer s.listing.mu.Unlock()
	s.listing.at = time.Time{}
}

// overviewOf returns the status of all children in a listing, of the host and of the budget.
func (s *Server) overviewOf(list manager.Listing) stateOf {
	now := s.budgets.of(list.Items)
	said := stateOf{Subagents: []standing{}, Counts: map[string]int{}, Budget: &now, More: list.More}
	for i := range list.Items {
		said.Counts[cmp.Or(string(list.Items[i].State), "asked for")]++
	}
	// If there are too many, keep the newest: they matter most.
	if extra := len(list.Items) - maxListed; extra > 0 {
		said.More, list.Items = true, list.Items[extra:]
	}
	for i := range list.Items {
		said.Subagents = append(said.Subagents, s.standingOf(list.Items[i]))
	}
	said.finish()
	s.addHost(&said)
	return said
}

// encoded is an answer in both of its forms. Several calls may share it, because nothing changes it.
type encoded struct {
	structure []byte
	text      string
}

func encodeAnswer(a answer) (*encoded, error) {
	var structure bytes.Buffer
	encoder := json.NewEncoder(&structure)
	encoder.SetEscapeHTML(false) // as the library encodes answers
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return &encoded{structure.Bytes(), a.say()}, nil
}

func (e *encoded) say() string { return e.text }

// MarshalJSON returns the stored structure.
func (e *encoded) MarshalJSON() ([]byte, error) { return e.structure, nil }
