package outbox

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
)

// awayEvery is how often an outbox is looked for at its path.
const awayEvery = 500 * time.Millisecond

// Trouble says what keeps an outbox from being served: its directory is not at its path any more, or cannot be written. The
// held one could still be read and written, wherever it is now; but the parent that uses the path then may not be the one that the
// operator meant, and the directory may lie where another parent reads it. Nor is it served while another process holds
// its lock: that may be a watcher which runs the same requests.
func (o *Outbox) Trouble() error {
	if o.Dir.Why() != nil {
		return o.Leads()
	}
	return errors.Join(o.Dir.Alive(), o.Dir.Writable(), o.ensureLock())
}

// ensureLock takes the lock of the outbox unless this watcher has it. A directory that is another outbox's is never ours.
func (o *Outbox) ensureLock() error {
	if err := o.Leads(); err != nil {
		return err
	}
	if o.Settings.Lock == nil {
		return nil
	}
	return o.Settings.Lock()
}

// publish writes a file of ours, unless the outbox is away: what is due then is written when it is back.
func (o *Outbox) publish(name string, data []byte) error {
	if err := errors.Join(o.Dir.Alive(), o.ensureLock()); err != nil {
		return err
	}
	return o.Dir.Publish(name, data)
}

// expendable says whether a file that could not be written is not worth a word: the trouble was said, and what the file
// would have told is old when the outbox is back.
func (o *Outbox) expendable(err error) bool {
	return o.Away.Load() || errors.Is(err, delegation.ErrMoved)
}

// Stumble notes that a file of the outbox could not be read, listed or written, and says that it is looked at again.
func (o *Outbox) Stumble(what string, err error) {
	if o.expendable(err) {
		return
	}
	o.log.Debug("a file of the outbox cannot be used now", "what", what, "error", err)
	o.files.Raise(delegation.NoticeOutbox, err)
}

// checkPlace notices when the outbox goes away and when it is back, and says so, once. Nothing is taken in meanwhile: the
// listing that follows finds what came.
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
		s.log.Error("the outbox is not served until its directory is back at its path, can be written, and is held by no other "+
			"process; if another one is the outbox now, restart the watcher", "error", err)
	case err == nil && was:
		s.gone.Lower()
		s.log.Info("the outbox is served again")
		s.watchAgain()
		return true
	}
	return false
}

// watchAgain asks for notifications anew: those of a directory that went away have ended.
func (s *scan) watchAgain() {
	s.notify.Remove(s.Dir.Path()) // it may have ended by itself
	if err := s.notify.Add(s.Dir.Path()); err != nil {
		s.trouble(err)
	}
}

// stop ends a listing of an outbox that goes away under it.
func (s *scan) stop(ctx context.Context) error {
	s.checkPlace()
	if s.Away.Load() {
		return delegation.ErrMoved
	}
	return ctx.Err()
}

// awaitReturn asks for all outboxes to be opened anew when the directory at the path, or what is known of it, is another one.
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
