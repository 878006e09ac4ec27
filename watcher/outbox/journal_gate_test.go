package outbox

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"torno/internal/retry"
	"torno/watcher/notice"
)

// TestAJournalInTroubleIsTriedByOne: however many requests wait, it is asked as often as one would.
func TestAJournalInTroubleIsTriedByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notices, log := notice.New(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler)
		g := &gate{log: log, held: notices.Flag("")}
		tries := 0
		for over := time.Now().Add(10 * time.Minute); time.Now().Before(over); time.Sleep(50 * time.Millisecond) {
			for range 100 {
				if g.wait() == 0 {
					tries++
					g.trouble(errors.New("full"))
				}
			}
		}
		if tries < 60 || tries > 140 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		if g.trouble(context.Canceled) != 0 {
			t.Error("who is told to stop waits")
		}
		time.Sleep(retry.LastBackoff + 2*notice.Lingers)
		g.forget()
		if len(notices.Of("main")) != 0 || g.wait() != 0 {
			t.Error("what nobody meets any more is still said")
		}
	})
}
