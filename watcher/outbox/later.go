package outbox

import "time"

// later is what a scan looks at again. Answers that are due do not wait behind requests that are to be looked at again: a flood
// of those leaves no room.
type later struct {
	looks   map[string]time.Time // requests to look at again, and when
	answers map[string]time.Time // requests whose answer could not be written, and when to try again
	missed  bool                 // the listing that is under way found more requests to look at again than are kept
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

// answer notes when an answer that could not be written is tried again.
func (l *later) answer(request string) {
	if len(l.answers) < maxDue {
		l.answers[request] = time.Now().Add(dueAgain)
	}
}

// waits says whether a request is to be looked at again.
func (l *later) waits(name string) bool {
	_, waits := l.looks[name]
	return waits
}

// nothing says whether every request that the last listing found was looked at for good.
func (l *later) nothing() bool { return !l.missed && len(l.looks) == 0 }

// next is how long until something is due.
func (l *later) next() time.Duration {
	next := time.Hour
	for _, due := range []map[string]time.Time{l.looks, l.answers} {
		for _, at := range due {
			next = min(next, max(time.Until(at), 0))
		}
	}
	return next
}
