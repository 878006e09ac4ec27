package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/watcher/limit"
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

// looks rests for each look at an input that is not whole. A parent can have its runs look as often as it likes, by
// touching the file.
type looks struct {
	turn  chan struct{} // all runs of an outbox share one half of a core; a run that rests has the turn
	share limit.Share
}

func newLooks() looks {
	return looks{turn: make(chan struct{}, 1), share: limit.Share{Of: eventShare, Longest: limit.LongestRest}}
}

// The work that is counted for a look lies between leastLook and mostLook. A process that was frozen has not worked.
const (
	leastLook = 5 * time.Millisecond
	mostLook  = time.Second
)

func (l *looks) rest(ctx context.Context, work time.Duration) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.turn }()
	l.share.Pause(ctx, min(max(work, leastLook), mostLook))
}

// ReadInput reads input n of the run. there is false if no such file is there, or if the file may still be being
// written. In the second case ReadInput rests before it returns, unless ctx is done.
func (a *Admission) ReadInput(ctx context.Context, n int) (in delegation.Input, refusal *delegation.Refusal, there bool) {
	begin := time.Now()
	in, refusal, err := a.readInput(n)
	if err == nil {
		return in, refusal, true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		a.box.looks.rest(ctx, time.Since(begin))
	}
	return in, nil, false
}

// errUnsettled is the error of an input that may still be being written.
var errUnsettled = errors.New("the input may not be whole yet")

func (a *Admission) readInput(n int) (in delegation.Input, refusal *delegation.Refusal, err error) {
	data, stamp, err := a.box.Dir.Read(delegation.InputName(a.Key.Subagent, a.Key.Request, n), delegation.MaxInputFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, delegation.ErrChanged):
		return in, nil, err
	case err == nil:
		in, err = delegation.DecodeInput(data, a.Key.Subagent, a.Key.Request, n)
		errors.As(err, &refusal)
	default:
		refusal = delegation.RefuseInputEntry(err)
	}
	if refusal == nil && err != nil {
		a.box.Stumble("read an input", err)
		return in, nil, err
	}
	if refusal != nil && time.Since(stamp.ModTime).Abs() < settle {
		return in, nil, errUnsettled
	}
	return in, refusal, nil
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
