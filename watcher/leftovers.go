package watcher

import (
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// orphan removes a response, status or sentinel whose request is gone, and statuses that nobody fetched; a run whose
// request is gone ends. It waits until the file has some age: its client may be at work.
func (s *scan) orphan(name, rawID string) {
	stamp, err := s.dir.Stat(name)
	if err != nil || time.Since(stamp.ChangeTime) < clearAfter {
		return
	}
	if id, _, ok := delegation.ParseCancel(rawID); ok && kindOf(name) == delegation.KindCancel && s.there("request_"+id+".json") {
		return
	}
	request := "request_" + rawID + ".json"
	if _, err := s.dir.Stat(request); errors.Is(err, fs.ErrNotExist) {
		s.requestGone(rawID, true)
		return
	}
	if kindOf(name) == delegation.KindStatus && time.Since(stamp.ModTime) > statusesLast && s.runOf(rawID) == nil {
		s.discard(name)
	}
}

func kindOf(name string) delegation.Kind {
	kind, _ := delegation.ParseName(name)
	return kind
}

// orphanSegment removes live output that belongs to no run of this watcher: an earlier one left it.
func (s *scan) orphanSegment(name, rawID string) {
	if s.runOf(rawID) != nil || s.trails.has(rawID, name) {
		return // an adopted run goes on behind it, or did
	}
	stamp, err := s.dir.Stat(name)
	if err == nil && stamp.ModTime.Before(s.w.born) {
		s.discard(name)
	}
}

// orphanTemp removes temporary files of an earlier watcher.
func (s *scan) orphanTemp(name string) {
	if !delegation.IsTemp(name) {
		return
	}
	stamp, err := s.dir.Stat(name)
	if err == nil && stamp.ModTime.Before(s.w.born) {
		s.discard(name)
	}
}
