package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"torno/internal/paths"
)

// checkViews reports views of one directory that contradict each other. It cannot know how the parent's container and
// the engine see the directory. `check --try` finds the rest: its child has to find its workspace.
func checkViews(r *report, o *Outbox) {
	for i, m := range o.Paths {
		key := fmt.Sprintf("outboxes.%s.paths[%d]", o.Name, i)
		here, err := os.Stat(m.Here)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.warn(key+".here", "%s is not there: requests for %s are refused; here is the directory as this watcher sees it, and parent as the agent sees it", m.Here, m.Parent)
			continue
		case err != nil:
			r.warn(key+".here", "cannot be looked at: %v", err)
			continue
		case !o.serves(m.Here):
			r.warn(key+".here", "%s is not in a root: no request can name anything in %s; add it to allow or read, or take this view away", m.Here, m.Parent)
		}
		if m.Engine == m.Here {
			continue
		}
		// Outside a container, the engine's name for the directory is also valid on this machine.
		if there, err := os.Stat(m.Engine); err == nil && !os.SameFile(here, there) {
			r.warn(key+".engine", "%s is another directory than %s on this machine; engine is only for a watcher in a container; leave it out elsewhere", m.Engine, m.Here)
		}
	}
}

// serves reports whether a request may name a directory that is, holds or lies in dir.
func (o *Outbox) serves(dir string) bool {
	return slices.ContainsFunc(slices.Concat([]string{o.Dir}, o.Allow, o.Read), func(root string) bool { return paths.Nested(root, dir) })
}
