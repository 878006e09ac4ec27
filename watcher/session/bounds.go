package session

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"torno/internal/evict"
	"torno/sandbox"
)

// pruneEvery is the interval at which the store looks for sessions that are too old.
const pruneEvery = time.Hour

// list returns the sessions, the newest first.
func list(dir *os.Root) ([]evict.File, error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []evict.File
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isSession(e.Name()) && info.Mode().IsRegular() {
			all = append(all, evict.File{Name: e.Name(), Owner: outboxOf(e.Name()), Size: info.Size(), At: info.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b evict.File) int { return b.At.Compare(a.At) })
	return all, nil
}

// Loop prunes sessions until ctx is done.
func (s *Store) Loop(ctx context.Context) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		s.keeping.Lock()
		s.prune("")
		s.keeping.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// prune removes sessions that are too old, then sessions beyond the other bounds. It spares newest, the session that
// was just kept.
func (s *Store) prune(newest string) {
	all, err := list(s.dir)
	if err != nil {
		s.log.Warn("the watcher cannot look through the sessions; it tries again in an hour", "error", err)
		return
	}
	now := s.now()
	room := evict.Bounds{Number: s.bounds.Number, Bytes: s.bounds.Bytes}
	all = slices.DeleteFunc(all, func(k evict.File) bool {
		switch {
		case k.Name == newest:
			room.Number--
			room.Bytes -= k.Size
			return true
		case s.bounds.Age > 0 && now.Sub(k.At) > s.bounds.Age:
			s.remove(k)
			return true
		}
		return false
	})
	for _, k := range evict.Over(all, room) {
		s.remove(k)
	}
}

func (s *Store) remove(k evict.File) {
	if err := s.dir.Remove(k.Name); err != nil {
		s.log.Warn("the watcher cannot remove a session that is over the bounds", "file", k.Name, "error", err)
	}
}

// Sweep removes files that sandboxes of earlier watchers have left, unless a run still has the sandbox. A watcher calls
// it after it has recovered. Files of the watcher's own sandboxes are left to Release.
func (s *Store) Sweep(wanted func(sandbox.SandboxID) bool) {
	for _, name := range s.left {
		id, _, _ := strings.Cut(name, ".")
		if !wanted(sandbox.SandboxID(id)) {
			_ = s.dir.Remove(incoming + "/" + name) // the next start tries again
		}
	}
	s.left = nil
}
