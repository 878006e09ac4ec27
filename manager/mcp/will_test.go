package mcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"torno/delegation"
)

// coming is what the host does with requests that are not there yet.
type coming struct {
	mu   sync.Mutex
	acts [][]string // a verb and its arguments, without the id
	seen map[string]bool
}

// will has the host do something with the next request that comes.
func (s *stage) will(verb string, args []string) {
	s.Helper()
	c := &s.coming
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts = append(c.acts, append([]string{verb}, args...))
	if c.seen != nil {
		return
	}
	c.seen = map[string]bool{}
	for _, r := range s.requests() {
		c.seen[r.RequestID.String()] = true
	}
	done := make(chan struct{})
	s.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for s.Context().Err() == nil {
			s.actOnNew()
			select {
			case <-tick.C:
			case <-s.Context().Done():
			}
		}
	}()
}

func (s *stage) actOnNew() {
	c := &s.coming
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range s.requests() {
		if len(c.acts) == 0 || c.seen[r.RequestID.String()] {
			continue
		}
		c.seen[r.RequestID.String()] = true
		act := c.acts[0]
		c.acts = c.acts[1:]
		s.do(act[0], append([]string{r.SubagentID.String()}, act[1:]...))
	}
}

// requests are those in the outbox.
func (s *stage) requests() (all []delegation.Request) {
	found, err := filepath.Glob(filepath.Join(s.path, "request_*.json"))
	s.check(err)
	for _, path := range found {
		data, _, err := s.dir.Read(filepath.Base(path), 1<<20)
		if err != nil {
			continue // it is gone again
		}
		r, err := delegation.DecodeRequest(data)
		s.check(err)
		all = append(all, r)
	}
	return all
}

// newest is the id of the request that came last.
func (s *stage) newest() string {
	s.Helper()
	var last delegation.Request
	for _, r := range s.requests() {
		if r.CreatedAt.After(last.CreatedAt) {
			last = r
		}
	}
	return last.SubagentID.String()
}

// wanted is what a request asks for beside its task.
func (s *stage) wanted(id string) string {
	s.Helper()
	if id == "*" {
		id = s.newest()
	}
	r := s.request(id)
	settings, err := json.Marshal(r.YAMLConfig)
	s.check(err)
	return fmt.Sprintf("  %s: profile %s, model %q, %d s, session %q, settings %s\n", id, r.Profile, r.Model, r.TimeoutSeconds, r.SessionID, settings) +
		"  task  " + strings.ReplaceAll(strings.TrimRight(r.Task, "\n"), "\n", "\n  task  ") + "\n"
}
