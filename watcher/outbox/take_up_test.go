package outbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// TestAFloodOfHalfWrittenRequestsIsNotWaitedFor (H26): all others wait while a parent's outbox is taken over.
func TestAFloodOfHalfWrittenRequestsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, start := newBox(t, Host{Runs: noRuns{}}, Settings{MaxRequestBytes: 1 << 20}), time.Now()
		for i := range 200 {
			name := fmt.Sprint("request_s", i, ".json")
			path := filepath.Join(box.Dir.Path(), name)
			if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil { // it is still being written
				t.Fatal(err)
			}
			if _, reason := box.StillAsked(journal.Run{FileName: name}); reason != delegation.ReasonSuperseded {
				t.Fatalf("%s is %q", name, reason)
			}
		}
		if waited := time.Since(start); waited == 0 || waited > 5*time.Second {
			t.Errorf("their writers were waited for, for %s", waited)
		}
	})
}
