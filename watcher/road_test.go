package watcher

import (
	"context"
	"log/slog"
	"testing"

	"torno/watcher/hang"
	"torno/watcher/notice"
	"torno/watcher/output"
	"torno/watcher/workspace"
)

// roadOf is a road that nothing but the test goes.
func roadOf(t *testing.T) *road {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	life, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	return newRoad(ports{
		notices: notice.New(log), hangs: hang.New(workspace.Calls, log), timing: Timing{}.usual(), log: log, life: life, leisure: life,
		keeps: func() bool { return false },
	})
}

// nobody is a client that hears nothing.
type nobody struct{ client }

func (nobody) Live() *output.Live { return &output.Live{} }
