package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/output"
)

// sweeper removes files that clients left when they took their request away, and files of earlier watchers.
type sweeper struct{ *Outbox }

// orphan removes a response, status or sentinel whose request is gone, and ends a run whose request is gone. It also
// removes old statuses that no client fetched. It spares young files, because their client may be at work.
func (s *sweeper) orphan(name, rawID string) {
	stamp, err := s.Dir.Stat(name)
	if err != nil || time.Since(stamp.ChangeTime) < clearAfter {
		return
	}
	if id, _, ok := delegation.ParseCancel(rawID); ok && kindOf(name) == delegation.KindCancel && s.there("request_"+id+".json") {
		return
	}
	request := "request_" + rawID + ".json"
	if _, err := s.Dir.Stat(request); errors.Is(err, fs.ErrNotExist) {
		s.requestGone(rawID, true)
		return
	}
	if kindOf(name) == delegation.KindStatus && time.Since(stamp.ModTime) > statusesLast && !s.isRunning(rawID) {
		s.discard(name)
	}
}

func kindOf(name string) delegation.Kind {
	kind, _ := delegation.ParseName(name)
	return kind
}

// orphanSegment removes live output of an earlier watcher's runs that no client reads any more. While the request of an
// ended run is there, its client may still read, however slowly: then orphanSegment keeps the segment as part of a
// trail.
func (s *sweeper) orphanSegment(ctx context.Context, name string) {
	rawID, hash, seq, ok := delegation.ParseEventsName(name)
	if !ok || s.isRunning(rawID) {
		return
	}
	known, there := s.trails.find(rawID, hash)
	switch {
	case there && seq <= known.last-output.MaxSegments:
		s.discard(name)
		return
	case there && seq >= known.first && seq <= known.last:
		return
	case there:
		known.first, known.last = min(seq, known.first), max(seq, known.last)
		s.trails.keep(known)
		return
	}
	record, wanted, err := s.runOf(ctx, rawID, hash)
	if err != nil {
		return // the next listing asks again
	}
	if wanted {
		s.trails.keep(trail{ID: record.Subagent, request: record.Request, first: seq, last: seq, ended: record.Ended})
		return
	}
	// An earlier watcher published it, or this watcher did, to tell how an earlier watcher's run ended.
	if stamp, err := s.Dir.Stat(name); err == nil && (stamp.ModTime.Before(s.Born) || time.Since(stamp.ChangeTime) >= clearAfter) {
		s.discard(name)
	}
}

// runOf returns the run that an earlier watcher's segment belongs to. The run is wanted while its request is there.
func (s *sweeper) runOf(ctx context.Context, rawID, hash string) (record journal.Run, wanted bool, err error) {
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil || !s.there(delegation.RequestName(id)) {
		return record, false, nil //nolint:nilerr // the name belongs to no run
	}
	record, known, err := s.Journal.Latest(ctx, s.ID, id)
	return record, known && record.Request.Hash() == hash, err
}

// orphanTemp removes temporary files of an earlier watcher.
func (s *sweeper) orphanTemp(name string) {
	if !delegation.IsTemp(name) {
		return
	}
	stamp, err := s.Dir.Stat(name)
	if err == nil && stamp.ModTime.Before(s.Born) {
		s.discard(name)
	}
}
