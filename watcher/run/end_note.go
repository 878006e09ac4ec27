package run

import (
	"encoding/json"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
)

// ending is why a run is being ended. It is noted before anything is done for that: a child that was signalled and a
// sandbox that was removed do not tell a next watcher who wanted it.
type ending struct {
	Reason            delegation.Reason
	Code              delegation.Code
	Field, Text, Hint string
}

func (runs *Runs) saveEnding(key string, e ending) {
	if data, err := json.Marshal(e); err == nil {
		runs.Notes.WriteEnding(key, data)
	}
}

// endingOf is why a run was being ended; the reason is "" where that had not begun.
func (runs *Runs) endingOf(key string) (e ending) {
	if json.Unmarshal(runs.Notes.ReadEnding(key), &e) != nil {
		return ending{}
	}
	return e
}

// noteEnding notes why a run is about to be ended.
func (r *Run) noteEnding() {
	e := ending{Reason: r.Cause()}
	if why := r.whyEnded(e.Reason); why != nil {
		e.Code, e.Field, e.Text, e.Hint = why.Code, why.Field, why.Text, why.Hint
	}
	crash.At("run.ending")
	r.runs.saveEnding(r.hash, e)
}

// whyEnded is what there is to say about a reason.
func (r *Run) whyEnded(reason delegation.Reason) *delegation.Refusal {
	switch reason {
	case delegation.ReasonWorkspaceLimit:
		return r.tooMuch.Load()
	case delegation.ReasonLaunchFailed:
		return notStarted(errors.New("init did not answer in time"), sandbox.Exit{}).refusal
	}
	return nil
}

// change is the journal's record of an ending, for a run whose sandbox is gone.
func (e ending) change() journal.Change {
	return journal.Change{Reason: e.Reason, Ended: time.Now(), Code: e.Code, Field: e.Field, Text: e.Text, Hint: e.Hint}
}

// goOnEnding has a run end for the reason for which an earlier watcher was ending it.
func (r *Run) goOnEnding(e ending) {
	if e.Reason == "" {
		return
	}
	if e.Reason == delegation.ReasonWorkspaceLimit {
		r.tooMuch.Store(&delegation.Refusal{Code: e.Code, Field: e.Field, Text: e.Text, Hint: e.Hint})
	}
	r.End(e.Reason)
}

// NoteEnding notes that a run that no watcher carries is being ended.
func (runs *Runs) NoteEnding(key string, reason delegation.Reason) {
	crash.At("unserved.noted")
	runs.saveEnding(key, ending{Reason: reason})
}

// EndingOf is the end of a run that an earlier watcher was ending and whose sandbox is gone. It is false where that had not begun.
func (runs *Runs) EndingOf(key string) (end journal.Change, begun bool) {
	e := runs.endingOf(key)
	return e.change(), e.Reason != ""
}
