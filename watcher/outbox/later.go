package outbox

import "time"

// later lists what a scan looks at again. Owed answers have their own list, so that a flood of second looks cannot
// crowd them out.
type later struct {
	looks   map[string]time.Time // requests to look at again, and when
	answers map[string]time.Time // requests whose answer could not be written, and when to try again
	missed  bool                 // the present listing found more requests for a second look than fit
}

func newLater() *later {
	return &later{looks: make(map[string]time.Time), answers: make(map[string]time.Time)}
}

// look notes when to look at a request again.
func (l *later) look(name string, pause time.Duration) {
	if len(l.looks) == maxDelayed {
		l.missed = true
		return
	}
	l.looks[name] = time.Now().Add(pause)
}

// answer notes when to try an unwritten answer again.
func (l *later) answer(request string) {
	if len(l.answers) < maxDue {
		l.answers[request] = time.Now().Add(dueAgain)
	}
}

// waits reports whether a second look at a request is noted.
func (l *later) waits(name string) bool {
	_, waits := l.looks[name]
	return waits
}

// nothing reports whether every request of the last listing was dealt with for good.
func (l *later) nothing() bool { return !l.missed && len(l.looks) == 0 }

// next returns the time until something is due.
func (l *later) next() time.Duration {
	next := time.Hour
	for _, due := range []map[string]time.Time{l.looks, l.answers} {
		for _, at := range due {
			next = min(next, max(time.Until(at), 0))
		}
	}
	return next
}
