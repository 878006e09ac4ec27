package journal

import (
	"context"
	"time"

	"torno/delegation"
)

// Ending is the reason why a run is being ended.
type Ending struct {
	Reason delegation.Reason `json:"reason"`
	Code   delegation.Code   `json:"code,omitempty"`
	Field  string            `json:"field,omitempty"`
	Text   string            `json:"text,omitempty"`
	Hint   string            `json:"hint,omitempty"`
}

// NewEnding returns the ending of a run for a reason. refusal explains the reason; it may be nil.
func NewEnding(reason delegation.Reason, refusal *delegation.Refusal) Ending {
	e := Ending{Reason: reason}
	if refusal != nil {
		e.Code, e.Field, e.Text, e.Hint = refusal.Code, refusal.Field, refusal.Text, refusal.Hint
	}
	return e
}

// Refusal returns the explanation of the reason, or nil if there is none.
func (e Ending) Refusal() *delegation.Refusal {
	if e.Code == "" {
		return nil
	}
	return &delegation.Refusal{Code: e.Code, Field: e.Field, Text: e.Text, Hint: e.Hint}
}

// Change returns the end of a run that was being ended and whose sandbox is gone.
func (e Ending) Change() Change {
	return Change{Reason: e.Reason, Ended: time.Now(), Code: e.Code, Field: e.Field, Text: e.Text, Hint: e.Hint}
}

// NoteEnding records why a run is being ended, before anything is done to end it. Otherwise the next watcher could not
// know who wanted a child signalled or a sandbox removed. The first note counts.
func (j *Journal) NoteEnding(ctx context.Context, key string, e Ending) error {
	noted := &e
	return j.update(ctx, "note why the watcher ends", key, withKernel, noteEnding, jsonColumn{&noted}, key)
}

const noteEnding = `UPDATE runs SET ending = iif(ending = 'null', ?, ending) WHERE key = ? AND state <> 'ended'`
