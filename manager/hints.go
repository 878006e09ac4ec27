package manager

import (
	"log/slog"
	"sync"
)

// hints tells waiting goroutines that one of their files may have changed. A hint may be missing or needless: its
// receiver looks at the files, and a poll stands behind it. The notifications start with the first subscriber.
type hints struct {
	path string
	log  *slog.Logger
	stop func() error // stops the source of notifications; set once by start

	start sync.Once

	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

// subscriber wants hints about some names. wake holds one hint at most, so that a slow reader delays no others.
type subscriber struct {
	wants func(name string) bool
	wake  chan struct{}
}

func newHints(path string, log *slog.Logger) *hints {
	return &hints{path: path, log: log, subs: make(map[*subscriber]struct{})}
}

// subscribe returns a channel of hints about names that wants accepts, and a function that ends the subscription.
func (h *hints) subscribe(wants func(name string) bool) (<-chan struct{}, func()) {
	s := &subscriber{wants: wants, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	h.start.Do(h.listen)
	return s.wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, s)
	}
}

// listen starts the notifications. If that fails, for instance because all of inotify's instances are taken, the poll
// has to do.
func (h *hints) listen() {
	stop, err := notify(h.path, h.tell)
	if err != nil {
		h.log.Debug("no notifications from the outbox, polling only", "outbox", h.path, "error", err)
		return
	}
	h.stop = stop
}

// tell wakes the subscribers that want hints about name.
func (h *hints) tell(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if !s.wants(name) {
			continue
		}
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// close ends the notifications and waits until they have ended. A later subscriber gets no hints.
func (h *hints) close() error {
	h.start.Do(func() {})
	if h.stop == nil {
		return nil
	}
	return h.stop()
}
