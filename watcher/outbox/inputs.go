package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// input tells a run that its parent has said something. An input of no run stays until a listing finds it without its request.
func (s *scan) input(name string) {
	rawID, hash, n, ok := delegation.ParseInputName(name)
	if !ok {
		return
	}
	if r, running := s.newest(rawID); running && r.Key.Request.Hash() == hash {
		s.Carrier.Hear(r, n)
	}
}

// ReadInput reads input n of the run. It is false where nothing is there, or where it may still be being written.
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

// orphanInput removes what was said to a run that is over, when its request is gone or another one is in its place.
func (s *sweeper) orphanInput(ctx context.Context, name string) {
	rawID, hash, _, ok := delegation.ParseInputName(name)
	if !ok {
		return
	}
	stamp, err := s.Dir.Stat(name)
	if err != nil || time.Since(stamp.ChangeTime) < clearAfter {
		return
	}
	if r, running := s.newest(rawID); running && r.Key.Request.Hash() == hash {
		return
	}
	if _, wanted, err := s.runOf(ctx, rawID, hash); err == nil && !wanted {
		s.discard(name)
	}
}
