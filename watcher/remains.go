package watcher

import (
	"torno/internal/journal"
	"torno/sandbox"
)

// remains are the sandboxes that an earlier watcher left, by launcher and the key of their run: a crash can leave one of
// the same run with each, where auto made another choice before it.
type remains map[string]map[string]sandbox.Handle

// take returns the sandbox of a run: the one that is noted, and of a run that has none noted any, of which nothing ran.
func (left remains) take(record journal.Run) (h sandbox.Handle, there bool) {
	for launcher, handles := range left {
		if record.Handle != nil && record.Handle.Launcher != launcher {
			continue
		}
		if h, there = handles[record.Key]; there {
			delete(handles, record.Key)
			return h, true
		}
	}
	return h, false
}
