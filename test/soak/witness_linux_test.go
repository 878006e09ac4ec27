package soak

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"torno/delegation"
	"torno/internal/control"
)

// witness looks at every response that appears, until ctx is done.
func (s *scene) witness(ctx context.Context) {
	seen := map[subject]time.Time{} // which file was looked at
	next := time.NewTicker(3 * time.Millisecond)
	defer next.Stop()
	for ; ctx.Err() == nil; <-next.C {
		for _, who := range subjects {
			s.look(who, seen)
		}
	}
}

// look reads a response, if it is another one than the last time.
func (s *scene) look(who subject, seen map[subject]time.Time) {
	file, err := os.Open(s.boxes[who.outbox].Path("response_" + who.id + ".json"))
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.ModTime().Equal(seen[who]) {
		return
	}
	data, err := io.ReadAll(file)
	n := &answer{written: info.ModTime(), seen: time.Now()}
	if err == nil {
		n.Response, err = delegation.DecodeResponse(data)
	}
	seen[who] = info.ModTime()
	s.note(func() {
		if err != nil {
			s.odd = append(s.odd, fmt.Sprintf("%s: a response that cannot be read: %v: %q", who, err, data))
			return
		}
		s.attach(who, n)
	})
}

// attach finds the request that an answer belongs to. The answer to nonsense may name no request.
func (s *scene) attach(who subject, n *answer) {
	var whose *ask
	for _, a := range s.asks {
		switch {
		case a.subject != who:
		case a.token() == n.RequestID:
			whose = a
		case n.RequestID == "" && a.nonsense && !n.CompletedAt.Before(a.born().Add(-coarse)):
			whose = a
		}
	}
	switch {
	case whose == nil:
		s.odd = append(s.odd, fmt.Sprintf("%s: an answer to nobody: %+v", who, n.Response))
	case len(whose.answers) == 0 || n.RequestID != "" && !s.known(whose, n):
		whose.answers = append(whose.answers, n)
	}
}

func (s *scene) known(a *ask, n *answer) bool {
	for _, other := range a.answers {
		if reflect.DeepEqual(other.Response, n.Response) {
			return true
		}
	}
	return false
}

// gather reads what children, and the watcher, have written.
func (s *scene) gather() {
	s.Helper()
	s.lives = nil
	ledgers := []string{filepath.Join(s.common, "*", "ledger")}
	for _, h := range s.boxes {
		ledgers = append(ledgers, h.Path("workspaces/*/ledger"))
	}
	for _, pattern := range ledgers {
		paths, err := filepath.Glob(pattern)
		s.Must(err)
		for _, path := range paths {
			lives, err := readLedger(path)
			s.Must(err)
			s.lives = append(s.lives, lives...)
		}
	}
	runs, err := s.Client.Runs(s.Context(), control.Query{All: true, Limit: 100_000})
	s.Must(err)
	s.runs = runs
}
