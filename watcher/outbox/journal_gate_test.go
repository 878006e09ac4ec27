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
		s := &scan{Outbox: &Outbox{Host: &Host{Notices: notices}, log: log, Name: "main", files: &notice.Recurring{}, room: &notice.Recurring{}}, held: notices.Flag("")}
		tries := 0
		for over := time.Now().Add(10 * time.Minute); time.Now().Before(over); time.Sleep(50 * time.Millisecond) {
			for range 100 {
				if s.gate.wait() == 0 {
					tries++
					s.journalTrouble(errors.New("full"))
				}
			}
		}
		if tries < 60 || tries > 140 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		if s.journalTrouble(context.Canceled) != 0 {
			t.Error("who is told to stop waits")
		}
		time.Sleep(retry.LastBackoff + 2*notice.Lingers)
		if s.lowerOldNotices(); len(notices.Of("main")) != 0 || s.gate.wait() != 0 {
			t.Error("what nobody meets any more is still said")
		}
	})
}
