package approvals

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"torno/internal/approval"
)

// waits computes how long a run's clock has stood still. It has its own lock, and no caller holds that lock while it calls
// the journal. So a disk that hangs does not stop the run's time.
type waits struct {
	mu    sync.Mutex
	since func() (time.Duration, bool) // as in a Desk
	all   []approval.Approval          // the questions that the policy did not decide, by number
}

func (w *waits) begin(since func() (time.Duration, bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = since
}

// note adds a question, or replaces it when it is decided.
func (w *waits) note(a approval.Approval) {
	if a.By == approval.ByPolicy {
		return
	}
	a.Preview = "" // only its times are needed
	w.mu.Lock()
	defer w.mu.Unlock()
	at, there := w.find(a.Number)
	if there {
		w.all[at] = a
	} else {
		w.all = slices.Insert(w.all, at, a)
	}
}

// forget removes a question that the journal did not take.
func (w *waits) forget(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, there := w.find(number); there {
		w.all = slices.Delete(w.all, at, at+1)
	}
}

func (w *waits) find(number int) (int, bool) {
	return slices.BinarySearchFunc(w.all, number, func(a approval.Approval, n int) int { return cmp.Compare(a.Number, n) })
}

// paused returns how long the clock has stood still, up to a time since the run's release.
func (w *waits) paused(limit, now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return approval.Paused(w.all, limit, now)
}

// now returns the time since the release, or 0 if it is not known.
func (w *waits) now() time.Duration {
	w.mu.Lock()
	since := w.since
	w.mu.Unlock()
	if since == nil {
		return 0
	}
	now, _ := since()
	return now
}
