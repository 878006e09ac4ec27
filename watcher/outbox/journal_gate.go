package outbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/watcher/notice"
)

// gate keeps a scan from a journal that is in trouble. One request after the other tries it, ever more slowly, and all
// others wait behind it: there may be as many as the outbox holds.
type gate struct {
	log   *slog.Logger
	held  *notice.Flag // up while the journal is in trouble
	tries int
	shut  time.Time // until then no request uses the journal
}

// wait is the time until the gate opens, 0 where it is open.
func (g *gate) wait() time.Duration { return max(0, time.Until(g.shut)) }

// trouble notes that the journal does not take something, and returns how long to wait.
func (g *gate) trouble(err error) time.Duration {
	if errors.Is(err, context.Canceled) {
		return 0 // told to stop in the middle; the next start looks again
	}
	g.tries++
	pause := retry.Backoff(g.tries)
	g.shut = time.Now().Add(pause)
	retry.Warn(g.log, "use the journal; nothing new is started", g.tries, err)
	g.held.Raise(delegation.NoticeJournal, err)
	return pause
}

// works opens the gate again and lowers the flag.
func (g *gate) works() {
	g.tries, g.shut = 0, time.Time{}
	g.held.Lower()
}

// forget opens the gate where no request has met the trouble again: the one that did may be gone.
func (g *gate) forget() {
	if g.tries > 0 && time.Since(g.shut) > notice.Lingers {
		g.works()
	}
}
