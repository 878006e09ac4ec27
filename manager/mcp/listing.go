package mcp

import (
	"context"
	"sync"
	"time"

	"torno/manager"
)

// listing remembers the children of the outbox for a moment. A listing reads three files for each child, and models ask often.
type listing struct {
	fresh time.Duration // how old it may be

	mu   sync.Mutex
	at   time.Time // when it was begun; zero for none
	list manager.Listing
}

// defaultFresh is much shorter than a model takes between two calls.
const defaultFresh = 50 * time.Millisecond

// list is the children of the outbox, as of a moment ago. Those who ask at once share one look.
func (s *Server) list(ctx context.Context) (manager.Listing, error) {
	l := &s.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < l.fresh {
		return l.list, nil
	}
	at := time.Now()
	list, err := s.m.List(ctx)
	if err != nil {
		return manager.Listing{}, err
	}
	l.at, l.list = at, list
	return list, nil
}

// changed has the next listing look again, after a deed of ours.
func (s *Server) changed() {
	s.listing.mu.Lock()
	defer s.listing.mu.Unlock()
	s.listing.at = time.Time{}
}
