package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// input tells a run that its parent has written an input for it. An input without a run stays until a listing finds
// that its request is gone.
func (s *scan) input(name string) {
	rawID, hash, n, ok := delegation.ParseInputName(name)
	if !ok {
		return
	}
	if r := s.newest(rawID); r != nil && admissionOf(r).Key.Request.Hash() == hash {
		r.Hear(n)
	}
}

// ReadInput reads input n of the run. there is false if no such file is there, or if the file may still be being
// written.
func (a *Admission) ReadInput(n int) (in delegation.Input, refusal *delegation.Refusal, there bool) {
	data, stamp, err := a.box.Dir.Read(delegation.InputName(a.Key.Subagent, a.Key.Request, n), delegation.MaxInputFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, delegation.ErrChanged):
		return in, nil, false
	case err == nil:
		in, err = delegation.DecodeInput(data, a.Key.Subagent, a.Key.Request, n)
		errors.As(err, &refusal)
	default:
		refusal = delegation.RefuseInputEntry(err)
	}
	if refusal == nil && err != nil {
		a.box.Stumble("read an input", err)
		return in, nil, false
	}
	if refusal != nil && time.Since(stamp.ModTime).Abs() < settle {
		return in, nil, false
	}
	return in, refusal, true
}

// orphanInput removes the inputs for a run whose request is gone or was replaced since. Inputs for a request that is
// not admitted yet stay.
func (s *sweeper) orphanInput(ctx context.Context, name string) {
	rawID, hash, _, ok := delegation.ParseInputName(name)
	if !ok {
		return
	}
	stamp, err := s.Dir.Stat(name)
	if err != nil || time.Since(stamp.ChangeTime) < clearAfter {
		return
	}
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil || !s.there(delegation.RequestName(id)) {
		s.discard(name)
		return
	}
	record, known, err := s.Journal.Latest(ctx, s.ID, id)
	if err == nil && known && record.Request.Hash() != hash && stamp.ChangeTime.Before(record.Created) {
		s.discard(name)
	}
}
