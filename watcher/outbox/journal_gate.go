package outbox

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/watcher/notice"
)

// Stumble notes that a file of the outbox could not be read, listed or written, and says that it is looked at again.
func (o *Outbox) Stumble(what string, err error) {
	if o.expendable(err) {
		return
	}
	o.log.Debug("a file of the outbox cannot be used now", "what", what, "error", err)
	o.files.Raise(delegation.NoticeOutbox, err)
}

// gate keeps a scan from a journal that is in trouble. One request after the other tries it, ever more slowly, and all
// others wait behind it: there may be as many as the outbox holds.
type gate struct {
	tries int
	shut  time.Time // until then no request uses the journal
}

// wait is the time until the gate opens, 0 where it is open.
func (g *gate) wait() time.Duration { return max(0, time.Until(g.shut)) }

// journalTrouble notes that the journal does not take something, and returns how long to wait.
func (s *scan) journalTrouble(err error) time.Duration {
	if errors.Is(err, context.Canceled) {
		return 0 // told to stop in the middle; the next start looks again
	}
	s.gate.tries++
	pause := retry.Backoff(s.gate.tries)
	s.gate.shut = time.Now().Add(pause)
	retry.Warn(s.log, "use the journal; nothing new is started", s.gate.tries, err)
	s.held.Raise(delegation.NoticeJournal, err)
	return pause
}

// journalWorks opens the gate again and lowers the flag.
func (s *scan) journalWorks() {
	s.gate = gate{}
	s.held.Lower()
}

// lowerOldNotices takes notices back that were not raised again: the request that raised one may be gone.
func (s *scan) lowerOldNotices() {
	s.files.LowerIfOld()
	s.room.LowerIfOld()
	if s.gate.tries > 0 && time.Since(s.gate.shut) > notice.Lingers {
		s.journalWorks()
	}
}
