package session

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"torno/sandbox"
)

// pruneEvery is how often sessions that are too old are looked for.
const pruneEvery = time.Hour

// kept is the file of a session.
type kept struct {
	name string
	size int64
	at   time.Time
}

// list are the sessions, the newest first.
func list(dir *os.Root) ([]kept, error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isSession(e.Name()) && info.Mode().IsRegular() {
			all = append(all, kept{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortStableFunc(all, func(a, b kept) int { return b.at.Compare(a.at) })
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

// prune removes what is too old, and then what is over the bounds, but not the session that was just kept.
func (s *Store) prune(newest string) {
	all, err := list(s.dir)
	if err != nil {
		s.log.Warn("sessions cannot be looked through; they are again in an hour", "error", err)
		return
	}
	room := s.bounds
	all = slices.DeleteFunc(all, func(k kept) bool {
		switch {
		case k.name == newest:
			room.Number--
			room.Bytes -= k.size
			return true
		case s.bounds.Age > 0 && time.Since(k.at) > s.bounds.Age:
			s.remove(k)
			return true
		}
		return false
	})
	for _, k := range over(all, room) {
		s.remove(k)
	}
}

func (s *Store) remove(k kept) {
	if err := s.dir.Remove(k.name); err != nil {
		s.log.Warn("a session that is over the bounds cannot be removed", "file", k.name, "error", err)
	}
}

// over are the sessions, of those that are sorted with the newest first, for which there is no room: always the oldest of the outbox that has the
// most, so that an outbox pushes out its own before those of others.
func over(all []kept, room Bounds) (gone []kept) {
	number, bytes := len(all), int64(0)
	numberOf, bytesOf := map[string]int64{}, map[string]int64{}
	for _, k := range all {
		bytes += k.size
		numberOf[outboxOf(k.name)]++
		bytesOf[outboxOf(k.name)] += k.size
	}
	left := slices.Clone(all)
	for len(left) > 0 && (number > room.Number || bytes > room.Bytes) {
		share := numberOf
		if number <= room.Number {
			share = bytesOf
		}
		most := slices.Max(slices.Collect(maps.Values(share)))
		last := len(left) - 1
		for share[outboxOf(left[last].name)] < most {
			last--
		}
		k := left[last]
		left, gone = slices.Delete(left, last, last+1), append(gone, k)
		number--
		bytes -= k.size
		numberOf[outboxOf(k.name)]--
		bytesOf[outboxOf(k.name)] -= k.size
	}
	return gone
}

// Sweep lets go of what sandboxes of earlier watchers have left, but for those that a run still has. A watcher calls it when it has
// recovered; what sandboxes of its own leave is Release's.
func (s *Store) Sweep(wanted func(sandbox.SandboxID) bool) {
	for _, name := range s.left {
		id, _, _ := strings.Cut(name, ".")
		if !wanted(sandbox.SandboxID(id)) {
			_ = s.dir.Remove(incoming + "/" + name) // the next start tries again
		}
	}
	s.left = nil
}
