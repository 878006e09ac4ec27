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

// listing remembers the children of the outbox for a moment, and what status says of them all: models ask often.
type listing struct {
	fresh time.Duration // how old it may be

	mu       sync.Mutex
	at       time.Time // when it was begun; zero for none
	list     manager.Listing
	overview *encoded // of the list, made when the first call asks for it
}

// defaultFresh is much shorter than a model takes between two calls.
const defaultFresh = 50 * time.Millisecond

// list is the children of the outbox, as of a moment ago. Those who ask at once share one look.
func (s *Server) list(ctx context.Context) (manager.Listing, error) {
	s.listing.mu.Lock()
	defer s.listing.mu.Unlock()
	err := s.listing.look(ctx, s.m)
	return s.listing.list, err
}

// overview is what status says of all children, as of the same moment. It is made and encoded once for each listing.
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

// changed has the next listing look again, after a deed of ours.
func (s *Server) changed() {
	s.listing.mu.Lock()
	defer s.listing.mu.Unlock()
	s.listing.at = time.Time{}
}

// overviewOf is what status says of all children of a listing, of the host and of the budget.
func (s *Server) overviewOf(list manager.Listing) stateOf {
	now := s.budgets.of(list.Items)
	said := stateOf{Subagents: []standing{}, Counts: map[string]int{}, Budget: &now, More: list.More}
	for i := range list.Items {
		said.Counts[cmp.Or(string(list.Items[i].State), "asked for")]++
	}
	// The newest are the ones that matter, where there are too many.
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

// encoded is an answer in both of its forms, for several calls. They may share it, as nothing changes it.
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

// MarshalJSON is the structure as it was encoded.
func (e *encoded) MarshalJSON() ([]byte, error) { return e.structure, nil }
