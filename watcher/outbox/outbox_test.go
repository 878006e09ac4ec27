package outbox

import (
	"log/slog"
	"testing"

	"torno/delegation"
	"torno/watcher/notice"
)

// newBox is an outbox in a directory of its own, which no watcher serves.
func newBox(t testing.TB, host Host, settings Settings) *Outbox {
	t.Helper()
	dir, err := delegation.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	discarded := slog.New(slog.DiscardHandler)
	if host.Log == nil {
		host.Log = discarded
	}
	if host.Life == nil {
		host.Life = t.Context()
	}
	host.Notices, settings.Dir = notice.New(discarded), dir
	return host.NewOutbox(settings)
}
