package outbox

import (
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// notifications are the kernel's for one outbox. It may refuse them: its table for our user is full, or the parent has moved the
// directory away just now. Then listings find everything a little later, and each asks the kernel again.
type notifications struct {
	from    *fsnotify.Watcher // nil while the kernel gives none
	refused bool              // when they were last asked for
}

func (n *notifications) events() <-chan fsnotify.Event {
	if n.from == nil {
		return nil
	}
	return n.from.Events
}

func (n *notifications) errors() <-chan error {
	if n.from == nil {
		return nil
	}
	return n.from.Errors
}

func (n *notifications) close() {
	if n.from != nil {
		n.from.Close()
	}
}

// subscribe asks for the notifications of a directory, in the place of those that it had before.
func (n *notifications) subscribe(path string) (err error) {
	if n.from == nil {
		if n.from, err = fsnotify.NewWatcher(); err != nil {
			n.from = nil
			return fmt.Errorf("%w (see fs.inotify.max_user_instances)", err)
		}
	}
	_ = n.from.Remove(path) // the earlier subscription may have ended by itself
	return n.from.Add(path)
}

// subscribe asks for the outbox's notifications, and tells once that there are none.
func (s *scan) subscribe() {
	before := s.notify.refused
	err := s.notify.subscribe(s.Dir.Path())
	s.notify.refused = err != nil
	if err != nil && !before {
		s.trouble(err)
	}
}
