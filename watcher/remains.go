package watcher

import (
	"torno/internal/journal"
	"torno/sandbox"
)

// remains are the sandboxes that an earlier watcher left, by launcher.
type remains map[string]map[sandbox.SandboxID]sandbox.Handle

// take returns the sandbox that is bound to a run; for a released run, the sandbox that its launcher has.
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
