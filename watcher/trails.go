package watcher

import (
	"sync"

	"torno/delegation"
)

// maxTrails bounds for how many ended runs of an outbox the live output stays. Clients that never clean up lose the
// oldest first.
const maxTrails = 256

// trail is the live output of one run: its segments first to last.
type trail struct {
	id          delegation.SubagentID
	request     delegation.RequestID
	first, last int
}

// trails remembers the segments of ended runs so that they can be removed when the request is, or when there are too
// many.
type trails struct {
	remove func(name string)

	mu    sync.Mutex
	ended []trail // oldest first
}

// keep remembers an ended run's segments.
func (t *trails) keep(tr trail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = append(t.ended, tr)
	if len(t.ended) > maxTrails {
		t.sweep(t.ended[0])
		t.ended = append(t.ended[:0], t.ended[1:]...)
	}
}

// has says whether a file is a segment of a subagent's ended runs.
func (t *trails) has(rawID, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tr := range t.ended {
		if tr.id.String() != rawID {
			continue
		}
		for seq := tr.first; seq <= tr.last; seq++ {
			if delegation.EventsName(tr.id, tr.request, seq) == name {
				return true
			}
		}
	}
	return false
}

// drop removes the segments of a subagent's ended runs.
func (t *trails) drop(id delegation.SubagentID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.ended[:0]
	for _, tr := range t.ended {
		if tr.id == id {
			t.sweep(tr)
			continue
		}
		kept = append(kept, tr)
	}
	t.ended = kept
}

func (t *trails) sweep(tr trail) {
	for seq := tr.first; seq <= tr.last; seq++ {
		t.remove(delegation.EventsName(tr.id, tr.request, seq))
	}
}
