package serve

import (
	"errors"
	"os"
	"sync"

	"torno/internal/control"
)

// reloads numbers the reloads that one process was asked for, and keeps their results from one host to the next. A nil
// *reloads notes nothing.
type reloads struct {
	ask func() // does the same as HUP

	mu      sync.Mutex
	asked   int
	taken   int // up to this number the configuration is being read, or was
	done    int
	last    control.Reload // of done
	changes []string       // of taken
	waits   string
}

var errStopped = errors.New("the watcher was told to stop before")

// Ask implements watcher.Reloads.
func (r *reloads) Ask() control.Reload {
	r.mu.Lock()
	r.asked++
	number := r.asked
	r.mu.Unlock()
	r.ask()
	return control.Reload{Number: number, PID: os.Getpid()}
}

// Result implements watcher.Reloads. A reading that began after a request answers that request, so the newest result
// answers all requests before it.
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

// take begins a reading for all requests until now.
func (r *reloads) take() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken, r.changes = r.asked, nil
}

// found notes the changes. They are reported once they are served.
func (r *reloads) found(changes []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = changes
}

// add notes further lines for the clients that wait for the current reading.
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

// waitFor notes the reason why a reload waits; "" if it no longer waits.
func (r *reloads) waitFor(what string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits = what
}

// finish notes the result of the current reading.
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
