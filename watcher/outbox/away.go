package outbox

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
)

// awayEvery is the interval at which the watcher checks that the outbox is still at its path.
const awayEvery = 500 * time.Millisecond

// Trouble returns the reason why an outbox cannot be served, or nil. One reason is that its directory is no longer at
// its path or cannot be written. The watcher could still use the directory that it holds, wherever that is now. But the
// parent that uses the path then may not be the parent that the operator meant, and another parent may read the
// directory. Another reason is that another process holds the outbox's lock: it may be a watcher that runs the same
// requests.
func (o *Outbox) Trouble() error {
	if o.Dir.Why() != nil {
		return o.Leads()
	}
	return errors.Join(o.Dir.Alive(), o.Dir.Writable(), o.ensureLock())
}

// ensureLock takes the outbox's lock unless this watcher has it already. It returns an error if the name does not lead
// to the outbox's own directory, because another outbox's directory is never ours.
func (o *Outbox) ensureLock() error {
	if err := o.Leads(); err != nil {
		return err
	}
	if o.Settings.Lock == nil {
		return nil
	}
	return o.Settings.Lock()
}

// publish writes a file of the watcher's, unless the outbox is away. A file that is still needed is written when the
// outbox is back.
func (o *Outbox) publish(name string, data []byte) error {
	if err := errors.Join(o.Dir.Alive(), o.ensureLock()); err != nil {
		return err
	}
	return o.Dir.Publish(name, data)
}

// expendable reports whether an unwritten file needs no notice: the trouble is already reported, and the file would be
// outdated when the outbox is back.
func (o *Outbox) expendable(err error) bool {
	return o.Away.Load() || errors.Is(err, delegation.ErrMoved)
}

// Stumble reports that a file of the outbox could not be read, listed or written. The watcher will try again.
func (o *Outbox) Stumble(what string, err error) {
	if o.expendable(err) {
		return
	}
	o.log.Debug("a file of the outbox cannot be used now", "what", what, "error", err)
	o.files.Raise(delegation.NoticeOutbox, err)
}

// checkPlace notices when the outbox goes away and when it comes back, and reports each once. Meanwhile nothing is
// taken in; the listing after the return finds everything that came.
func (s *scan) checkPlace() (back bool) {
	err := s.Trouble()
	if err == nil && s.Away.Load() {
		err = s.TakeOver(s.Life)
	}
	was := s.Away.Swap(err != nil)
	switch {
	case err != nil && !was:
		clear(s.later.looks)
		s.gone.Raise(delegation.NoticeOutbox, nil)
		s.log.Error("the outbox is not served until its directory is back at its path, can be written, and no other process holds it; "+
			"if another directory is the outbox now, restart the watcher", "error", err)
	case err == nil && was:
		s.gone.Lower()
		s.log.Info("the outbox is served again")
		s.subscribe() // the notifications ended when the directory went away
		return true
	}
	return false
}

// stop tells a listing to end if the outbox has gone away meanwhile.
func (s *scan) stop(ctx context.Context) error {
	s.checkPlace()
	if s.Away.Load() {
		return delegation.ErrMoved
	}
	return ctx.Err()
}

// awaitReturn has all outboxes opened anew when the path leads to a new directory, or when an operator has decided.
func (o *Outbox) awaitReturn(ctx context.Context) {
	ticker := time.NewTicker(awayEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if o.IsOutdated() {
			o.Reopen()
		}
	}
}
