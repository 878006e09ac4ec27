package serve

import (
	"errors"
	"os"
	"sync"

	"torno/internal/control"
)

// reloads numbers what was asked of one process, and keeps what came of it from one host to the next. A nil one notes nothing.
type reloads struct {
	ask func() // what HUP does

	mu      sync.Mutex
	asked   int
	taken   int // up to this one the configuration is being read, or was
	done    int
	last    control.Reload // of done
	changes []string       // of taken
	waits   string
}

var errStopped = errors.New("the watcher was told to stop before")

// Ask is for watcher.Reloads.
func (r *reloads) Ask() control.Reload {
	r.mu.Lock()
	r.asked++
	number := r.asked
	r.mu.Unlock()
	r.ask()
	return control.Reload{Number: number, PID: os.Getpid()}
}

// Result is for watcher.Reloads. A reading that began after the question is an answer to it, so the newest result answers all before it.
func (r *reloads) Result(number int) control.Reload {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number > r.done {
		return control.Reload{Number: number, PID: os.Getpid(), Waits: r.waits}
	}
	result := r.last
	result.Number, result.PID, result.Done = number, os.Getpid(), true
	return result
}

// take begins to read for all that have asked until now.
func (r *reloads) take() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken, r.changes = r.asked, nil
}

// found notes what changed, for when it is served.
func (r *reloads) found(changes []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = changes
}

// add notes what else is to be told to those who wait for the one that was taken.
func (r *reloads) add(lines []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done >= r.taken {
		return
	}
	r.changes = append(r.changes, lines...)
}

// waitFor notes what a reload waits for; "" when it does not wait any more.
func (r *reloads) waitFor(what string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = what
}

// finish tells what came of the one that was taken.
func (r *reloads) finish(err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done >= r.taken {
		return
	}
	r.done, r.last = r.taken, control.Reload{Changes: r.changes}
	if err != nil {
		r.last = control.Reload{Error: err.Error()}
	}
}
