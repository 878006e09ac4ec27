package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// TestEventsOutliveTheirWatcher: an operator goes on behind the number that it has, in the host's own log, after the watcher was killed
// and the parent has written into its segments.
func TestEventsOutliveTheirWatcher(t *testing.T) {
	t.Parallel()
	house.Each(t, eventsOutliveTheirWatcher)
}

func eventsOutliveTheirWatcher(t *testing.T, sandbox string) {
	t.Parallel()
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: untilGo})
	h.Says(a, "ready")
	seen := int64(0)
	h.Eventually("the log has it", func() bool {
		text, newest, _ := events(h, 0, false)
		seen = newest
		return strings.Contains(text, "ready")
	})
	h.Signal(syscall.SIGKILL)
	segments, err := filepath.Glob(h.Path("events_s1.*"))
	h.Must(err)
	for _, path := range segments {
		h.Must(os.WriteFile(path, []byte("forged\n"), 0o644))
	}
	h.Start()
	h.Touch("workspaces/s1/go")
	text, newest, over := events(h, seen, true)
	if !strings.Contains(text, "went") || strings.Contains(text, "ready") || newest <= seen || !over {
		t.Errorf("behind event %d come %q, up to %d, over: %v", seen, text, newest, over)
	}
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if text, again, over := events(h, 0, false); !strings.Contains(text, "ready") || !strings.Contains(text, "went") || again != newest || !over {
		t.Errorf("all of it is %q, up to %d, over: %v", text, again, over)
	}
}

// events are what the child has printed behind an event, and where the stream ends. Each number comes once, or is said to be missing.
func events(h *house.House, since int64, follow bool) (text string, newest int64, over bool) {
	h.Helper()
	next := since + 1
	h.Must(h.Client.Events(h.Context(), "main/s1", control.EventQuery{Since: since, Follow: follow}, func(l control.EventLine) error {
		if l.End != nil {
			newest, over = l.End.Newest, l.End.Over
			return nil
		}
		e := l.Event
		if e.Seq != next {
			h.Errorf("event %d comes, and not %d", e.Seq, next)
		}
		next = e.Seq + 1
		if e.Missing != nil {
			next = e.Missing.Last + 1
		}
		if e.Type == delegation.EventStdout {
			text += string(e.Output())
		}
		return nil
	}))
	return text, newest, over
}
