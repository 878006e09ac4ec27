package outbox

import (
	"errors"
	"slices"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/sandbox"
	"torno/watcher/output"
)

// NewLive returns the writer of a run's live output.
func (o *Outbox) NewLive(key sandbox.RunKey) *output.Live {
	name := func(seq int) string { return delegation.EventsName(key.Subagent, key.Request, seq) }
	return &output.Live{
		Told: make(chan struct{}, 1),
		Last: func() int64 { return o.Events.Last(key) },
		Publish: func(seq int, events []delegation.Event) error {
			data, err := delegation.EncodeEvents(events)
			if err != nil {
				return err
			}
			crash.At("segment.kept")
			kept := o.Events.Append(key, data)
			crash.At("outbox.segment")
			if err := o.publish(name(seq), data); err != nil && !o.expendable(err) {
				return errors.Join(kept, err)
			}
			return kept
		},
		Remove: func(seq int) { o.discard(name(seq)) },
		Report: func(err error) { o.log.Warn("live output cannot be written", "run", key, "error", err) },
	}
}

// CompleteLive finishes the segment that an earlier watcher had noted when it died: it keeps and publishes what that
// watcher did not. It returns false if the outbox lacks the segment.
func (o *Outbox) CompleteLive(key sandbox.RunKey, p output.Progress) bool {
	name := delegation.EventsName(key.Subagent, key.Request, p.Segment)
	_, err := o.Dir.Stat(name)
	published := err == nil
	data, err := delegation.EncodeEvents(p.Events)
	if err != nil || len(data) == 0 { // an earlier version wrote the note
		return published
	}
	if o.Events.Last(key) < p.Lines {
		if err := o.Events.Append(key, data); err != nil {
			o.log.Warn("live output cannot be written", "run", key, "error", err)
		}
	}
	crash.At("segment.completed")
	return published || o.publish(name, data) == nil
}

// Bounds for the live output of ended runs in an outbox: the number of runs and the number of files. If clients never
// clean up, they lose the oldest output first.
const (
	maxTrails       = 256
	maxTrailedFiles = 64 * maxTrails
)

// trail is the live output of one run: its segments first to last.
type trail struct {
	ID          delegation.SubagentID
	request     delegation.RequestID
	first, last int
	ended       time.Time
}

// is reports whether a segment with this id and this request hash in its name belongs to the trail.
func (tr trail) is(rawID, hash string) bool {
	return tr.ID.String() == rawID && tr.request.Hash() == hash
}

// trails remembers the segments of ended runs until the client removes the request or there are too many. The listings
// of the next watcher find them again.
type trails struct {
	remove func(name string)

	mu    sync.Mutex
	ended []trail // sorted by end, the oldest first
}

// keep remembers segments of an ended run.
func (t *trails) keep(tr trail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := tr.request.Hash()
	if i := slices.IndexFunc(t.ended, func(known trail) bool { return known.is(tr.ID.String(), hash) }); i >= 0 {
		tr.first, tr.last = min(tr.first, t.ended[i].first), max(tr.last, t.ended[i].last)
		t.ended = slices.Delete(t.ended, i, i+1)
	}
	tr.first = max(tr.first, tr.last-output.MaxSegments+1)
	at, _ := slices.BinarySearchFunc(t.ended, tr, func(known, tr trail) int { return known.ended.Compare(tr.ended) })
	t.ended = slices.Insert(t.ended, at, tr)
	for len(t.ended) > maxTrails || len(t.ended) > 1 && t.files() > maxTrailedFiles {
		t.sweep(t.ended[0])
		t.ended = slices.Delete(t.ended, 0, 1)
	}
}

func (t *trails) files() (n int) {
	for _, tr := range t.ended {
		n += tr.last - tr.first + 1
	}
	return n
}

// find returns the trail of a segment.
func (t *trails) find(rawID, hash string) (tr trail, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.ended, func(tr trail) bool { return tr.is(rawID, hash) })
	if i < 0 {
		return trail{}, false
	}
	return t.ended[i], true
}

// drop removes the segments of a subagent's ended runs. Segments of the request except stay, because a run of that
// request continues them.
func (t *trails) drop(id delegation.SubagentID, except delegation.RequestID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = slices.DeleteFunc(t.ended, func(tr trail) bool {
		if tr.ID == id && tr.request != except {
			t.sweep(tr)
		}
		return tr.ID == id
	})
}

func (t *trails) sweep(tr trail) {
	// Remove at most as many as a run can have, whatever names a parent has made up.
	for n := range min(tr.last-tr.first+1, output.MaxSegments) {
		t.remove(delegation.EventsName(tr.ID, tr.request, tr.first+n))
	}
}
