package outbox

import (
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// notifications tell a scan what changes in its outbox. The kernel may send none: its table for our user is full, or the
// parent has moved the directory. Then listings find everything a little later, and the scan asks the kernel again twice
// a second.
type notifications struct {
	from    *fsnotify.Watcher // nil if the kernel gave none
	silent  bool              // the kernel sends none now
	refused bool              // the kernel gave none when the scan asked last
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

// subscribe asks the kernel for the notifications of a directory, in the place of those that it had before.
func (n *notifications) subscribe(path string) (err error) {
	defer func() { n.silent, n.refused = err != nil, err != nil }()
	if n.from == nil {
		if n.from, err = fsnotify.NewWatcher(); err != nil {
			n.from = nil
			return fmt.Errorf("%w (see fs.inotify.max_user_instances)", err)
		}
	}
	_ = n.from.Remove(path) // the earlier subscription may have ended by itself
	return n.from.Add(path)
}

// endBy notes that an event ended the notifications, because the directory itself was moved or removed.
func (n *notifications) endBy(event fsnotify.Event, dir string) {
	n.silent = n.silent || event.Name == dir && event.Has(fsnotify.Rename|fsnotify.Remove)
}

// subscribe asks for the outbox's notifications and reports whether they come. Of several failures in a row it logs the
// first.
func (s *scan) subscribe() bool {
	before := s.notify.refused
	err := s.notify.subscribe(s.Dir.Path())
	if err != nil && !before {
		s.trouble(err)
	}
	return err == nil
}
