package watcher

import (
	"torno/internal/journal"
	"torno/sandbox"
)

// remains holds the sandboxes that an earlier watcher left, by launcher.
type remains map[string]map[sandbox.SandboxID]sandbox.Handle

// take removes and returns the record's sandbox. For a released run it searches only the launcher that made the
// sandbox.
func (left remains) take(record journal.Run) (h sandbox.Handle, there bool) {
	for launcher, handles := range left {
		if record.Handle != nil && record.Handle.Launcher != launcher {
			continue
		}
		if h, there = handles[record.Sandbox]; there {
			delete(handles, record.Sandbox)
			return h, true
		}
	}
	return h, false
}
