package watcher

import (
	"errors"
	"time"

	"torno/delegation"
	"torno/watcher/run"
)

// ErrLeftBehind is returned by Run when some goroutine of the watcher still waits for a call that does not return.
var ErrLeftBehind = errors.New("a file system or a launcher does not answer; the watcher left the work that waits for it, and the next start continues that work")

// endsInTime waits for wait, at most as long as the watcher may take to leave. It reports whether wait has ended.
func (w *Watcher) endsInTime(wait func()) bool {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	timer := time.NewTimer(w.timing.Leave)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}

// stopWorking responds to every request within the budget. Waiting runs get their response at once. Running ones are
// drained or ended; at the end of the budget the rest is killed. If even that fails, for example because the disk is
// full, the next start responds.
func (w *Watcher) stopWorking() {
	w.endServing()
	if w.keeps() {
		w.keepAll()
		return
	}
	active := w.schedule.Close(w.life)
	over := make(chan struct{})
	go func() {
		w.runs.Wait()
		close(over)
	}()
	budget := time.NewTimer(w.config.Shutdown.Budget)
	defer budget.Stop()
	patience := time.NewTimer(w.patience())
	defer patience.Stop()
	var last <-chan time.Time
	for {
		select {
		case <-over:
			return
		case <-patience.C:
			for _, t := range active {
				t.Run.End(delegation.ReasonShutdown)
			}
		case <-budget.C:
			for _, t := range active {
				t.Run.(*run.Run).EndNow(delegation.ReasonShutdown)
			}
			last = time.After(w.timing.Last)
		case <-last:
			w.log.Error("the watcher could not end and record every run in time; the next start writes the missing responses")
			w.endLife()
			return // Run waits a little longer
		}
	}
}

// Keep tells the watcher to leave running and waiting runs to the next watcher when it stops, whatever its
// configuration says.
func (w *Watcher) Keep() { w.keep.Store(true) }

func (w *Watcher) keeps() bool { return w.config.Shutdown.Keep || w.keep.Load() }

// keepAll stops without ending a run: the next watcher queues the waiting runs and adopts the running ones.
func (w *Watcher) keepAll() {
	w.log.Info("leaving the unfinished runs to the next watcher", "runs", w.schedule.Freeze(w.life))
	w.endLife()
}

// patience returns how long running children are left alone. The rest of the budget must suffice for the ladder.
func (w *Watcher) patience() time.Duration {
	if !w.config.Shutdown.Drain {
		return 0
	}
	if left := w.config.Shutdown.Budget - w.timing.Longest(); left > 0 {
		return left
	}
	return w.config.Shutdown.Budget / 2
}
