package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
)

// A parent owns its outbox, and perhaps the directories around it. So what a parent can make true of them closes its outbox, and is
// never a mistake for which the watcher does not start, does not reload or ends. A closed outbox keeps its place: the journal's runs
// of it wait, and one that is there stands for it (delegation.OpenNowhere). It is looked at again until it can be served; then
// everything is opened anew, under the same configuration.

// closedOutboxes say why outboxes are not served, by name.
type closedOutboxes map[string]error

// examined parts what CheckHost found: what closes outboxes, and what the operator has to mend before anything is served.
func examined(c configs.Config) (closedOutboxes, []configs.Warning, error) {
	warnings, err := c.CheckHost()
	closed := closedOutboxes{}
	if wrong, ok := errors.AsType[*configs.Error](err); ok {
		closed, err = wrong.ByOutbox(c.Outboxes)
	}
	return closed, warnings, err
}

// lookAround looks at what the configuration names on this machine. Where nothing was ever served and no outbox can be, it was
// the operator who named the wrong directory.
func (h *host) lookAround(context.Context) (err error) {
	closed, warnings, err := examined(h.Config)
	for _, w := range warnings {
		h.Log.Warn("look at the configuration", "warning", w.String())
	}
	h.closed = closed
	_, unserved := os.Lstat(filepath.Join(h.Config.State, JournalName))
	if err == nil && len(closed) == len(h.Config.Outboxes) && errors.Is(unserved, fs.ErrNotExist) {
		_, err = h.Config.CheckHost()
	}
	return err
}

// closeOutbox has a stand-in take the place of an outbox's directory.
func (h *host) closeOutbox(i int, why error) error {
	o, held := h.Config.Outboxes[i], h.dirs[i]
	h.Log.Error("an outbox is not served; it is looked at again until it can be, and the others are served",
		"outbox", o.Name, "because", why)
	h.closed[o.Name] = why
	var err error
	if h.dirs[i], err = delegation.OpenNowhere(o.Dir, h.Config.State, why); err != nil || held == nil {
		return err
	}
	return held.Close()
}

// isClosed says whether an outbox is not served.
func (h *host) isClosed(i int) bool { return h.closed[h.Config.Outboxes[i].Name] != nil }

// reopenEvery is how often a closed outbox is looked at again.
const reopenEvery = 2 * time.Second

// awaitClosed closes h.returned when a closed outbox can be opened, unless open ends first.
func (h *host) awaitClosed(open context.Context) {
	if len(h.closed) == 0 {
		return
	}
	ticker := time.NewTicker(reopenEvery)
	defer ticker.Stop()
	for {
		select {
		case <-open.Done():
			return
		case <-ticker.C:
		}
		if slices.ContainsFunc(h.Config.Outboxes, h.canOpen) {
			close(h.returned)
			return
		}
	}
}

// canOpen says whether an outbox that is closed could be served now.
func (h *host) canOpen(o configs.Outbox) bool {
	if h.closed[o.Name] == nil {
		return false
	}
	closed, _, err := examined(h.Config)
	if err != nil || closed[o.Name] != nil {
		return false
	}
	dir, err := delegation.OpenDir(o.Dir)
	if err != nil {
		return false
	}
	bases, err := mounts.OpenBases(roots([]configs.Outbox{o}))
	if err == nil {
		err = bases.Close()
	}
	return errors.Join(err, dir.Close()) == nil
}

// lines tell which outboxes are not served, and why.
func (c closedOutboxes) lines() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, fmt.Sprintf("outbox %s is not served: %v", name, c[name]))
	}
	return all
}
