package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// attach finds out whose answer it is. The one to nonsense may name nobody.
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

// listen notes what the engine does, and begins again whenever the engine was away. What happened meanwhile is in its
// record only while it lives.
func (s *scene) listen(ctx context.Context) {
	since := time.Now()
	next := time.NewTicker(3 * time.Millisecond)
	defer next.Stop()
	for ; ctx.Err() == nil; <-next.C {
		since = s.hear(ctx, since)
	}
}

func (s *scene) hear(ctx context.Context, since time.Time) time.Time {
	filters := url.QueryEscape(`{"type":["container"],"label":["torno.installation"],"event":["create","start","die","destroy"]}`)
	query := fmt.Sprintf("http://engine/v1.41/events?since=%d.%09d&filters=%s", since.Unix(), since.Nanosecond(), filters)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
	s.Must(err)
	response, err := s.power.HTTP.Do(request)
	if err != nil {
		return since
	}
	defer response.Body.Close()
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Action   string
			TimeNano int64
			Actor    struct {
				ID         string
				Attributes map[string]string
			}
		}
		if decoder.Decode(&event) != nil {
			return since
		}
		since = time.Unix(0, event.TimeNano+1)
		s.note(func() {
			key := event.Actor.Attributes["torno.run"]
			s.engine[key] = append(s.engine[key], deedOfEngine{
				event.Action, event.Actor.ID, event.Actor.Attributes["exitCode"], time.Unix(0, event.TimeNano),
			})
		})
	}
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
