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

// gate keeps a scan away from a journal that fails. One request at a time tries the journal, more and more slowly; all
// others wait, because an outbox may hold very many.
type gate struct {
	log   *slog.Logger
	held  *notice.Flag // up while the journal fails
	tries int
	shut  time.Time // no request uses the journal before this time
}

// wait returns the time until the gate opens, or 0 if it is open.
func (g *gate) wait() time.Duration { return max(0, time.Until(g.shut)) }

// trouble notes that the journal failed, and returns how long to wait.
func (g *gate) trouble(err error) time.Duration {
	if errors.Is(err, context.Canceled) {
		return 0 // the watcher was told to stop; the next start looks again
	}
	g.tries++
	pause := retry.Backoff(g.tries)
	g.shut = time.Now().Add(pause)
	retry.Warn(g.log, "use the journal; nothing new is started", g.tries, err)
	g.held.Raise(delegation.NoticeJournal, err)
	return pause
}

// works opens the gate and lowers the flag.
func (g *gate) works() {
	g.tries, g.shut = 0, time.Time{}
	g.held.Lower()
}

// forget opens the gate if no request has met the failure again: the request that met it may be gone.
func (g *gate) forget() {
	if g.tries > 0 && time.Since(g.shut) > notice.Lingers {
		g.works()
	}
}
