package watcher

import (
	"errors"
	"time"

	"torno/delegation"
)

// ErrLeftBehind is returned by Run when something of the watcher still waits for a call that does not return.
var ErrLeftBehind = errors.New("a file system or an engine does not answer, and what waits for it was left behind; the next start goes on with it")

// leaveTime is how long Run waits for what has been told to end. It is longer than grace, which launchers have.
var leaveTime = 15 * time.Second

// returns waits for leaveTime at most, and says whether that was enough.
func returns(wait func()) bool {
	over := make(chan struct{})
	go func() {
		wait()
		close(over)
	}()
	timer := time.NewTimer(leaveTime)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}

// lastBudget is for what is left when the budget is used up: killing, removing, writing down.
var lastBudget = time.Minute

// stopWorking answers everybody within the budget: what waits is answered at once, what runs is drained or ended, and
// what then still runs is killed. Where even that does not help, as with a full disk, the next start answers.
func (w *Watcher) stopWorking() {
	w.endLeisure()
	if w.keeps() {
		w.leaveAll()
		return
	}
	active := w.scheduler.closeDoor(w.life)
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
			for _, r := range active {
				r.end(delegation.ReasonShutdown)
			}
		case <-budget.C:
			for _, r := range active {
				r.endNow(delegation.ReasonShutdown)
			}
			last = time.After(lastBudget)
		case <-last:
			w.log.Error("not everything can be ended and written down; the next start will answer it")
			w.endLife()
			return // Run waits a little longer
		}
	}
}

// Keep has the watcher leave what runs and what waits to the next one when it stops, whatever its configuration says.
func (w *Watcher) Keep() { w.keep.Store(true) }

func (w *Watcher) keeps() bool { return w.config.Shutdown.Keep || w.keep.Load() }

// leaveAll stops without ending anything: what waits waits for the next watcher, and what runs is adopted by it.
func (w *Watcher) leaveAll() {
	w.log.Info("leaving what runs to the next watcher", "runs", w.scheduler.rest(w.life))
	w.endLife()
}

// patience is how long running children are left alone: long enough before the end of the budget for the ladder.
func (w *Watcher) patience() time.Duration {
	if !w.config.Shutdown.Drain {
		return 0
	}
	var climb time.Duration
	for _, step := range politely {
		climb += step.wait
	}
	if left := w.config.Shutdown.Budget - climb; left > 0 {
		return left
	}
	return w.config.Shutdown.Budget / 2
}
