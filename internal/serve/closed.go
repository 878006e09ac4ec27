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
	"sync"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
	"torno/watcher/hang"
)

// A parent owns its outbox, and perhaps the directories around it. So what a parent can make true of them closes its outbox, and is
// never a mistake for which the watcher does not start, does not reload or ends. A closed outbox keeps its place: the journal's runs
// of it wait, and one that is there stands for it (delegation.OpenNowhere). It is looked at again until it can be served; then
// everything is opened anew, under the same configuration.

// closedOutboxes say why outboxes are not served, by name.
type closedOutboxes map[string]error

// errSilent closes an outbox whose file system hangs.
var errSilent = errors.New("the file system of a directory of the outbox does not answer")

// outboxCalls are looks at the directories of outboxes, which may hang.
var outboxCalls = hang.Kind{
	Err:   errSilent,
	First: "the file system of an outbox does not answer; it is not served meanwhile",
	Many:  "too many looks wait for the file system of an outbox; there is no other until one returns",
	Over:  "the file system of an outbox answers again",
}

// examine looks at what a configuration names on this machine: it returns what closes outboxes, and what the operator has to mend
// before anything is served.
func (h *host) examine(ctx context.Context, c configs.Config) (closedOutboxes, []configs.Warning, error) {
	closed := h.silent(ctx, c)
	warnings, err := openOnes(c, closed).CheckHost()
	if wrong, ok := errors.AsType[*configs.Error](err); ok {
		var others map[string]error
		others, err = wrong.ByOutbox(c.Outboxes)
		maps.Copy(closed, others)
	}
	return closed, warnings, err
}

// silent finds the outboxes whose file systems do not answer in time.
func (h *host) silent(ctx context.Context, c configs.Config) closedOutboxes {
	ctx, cancel := context.WithTimeout(ctx, h.Timing.respond())
	defer cancel()
	found := make([]error, len(c.Outboxes))
	var looks sync.WaitGroup
	for i, o := range c.Outboxes {
		looks.Go(func() {
			_, found[i] = hang.DoUnlessFull(ctx, h.hangs, o.Dir, func() (struct{}, error) {
				for _, dir := range slices.Concat([]string{o.Dir}, o.Allow, o.Read) {
					_, _ = os.Stat(dir) // whatever it says
				}
				return struct{}{}, nil
			}, nil)
		})
	}
	looks.Wait()
	silent := closedOutboxes{}
	for i, err := range found {
		if err != nil {
			silent[c.Outboxes[i].Name] = err
		}
	}
	return silent
}

// silent are those of them whose file systems do not answer.
func (c closedOutboxes) silent() closedOutboxes {
	silent := maps.Clone(c)
	maps.DeleteFunc(silent, func(_ string, why error) bool { return !errors.Is(why, errSilent) })
	return silent
}

// openOnes leaves the closed outboxes out of a configuration.
func openOnes(c configs.Config, closed closedOutboxes) configs.Config {
	c.Outboxes = slices.DeleteFunc(slices.Clone(c.Outboxes), func(o configs.Outbox) bool { return closed[o.Name] != nil })
	return c
}

// lookAround looks at what the configuration names on this machine. Where nothing was ever served and no outbox can be, it was
// the operator who named the wrong directory.
func (h *host) lookAround(ctx context.Context) (err error) {
	closed, warnings, err := h.examine(ctx, h.Config)
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
		if h.canOpenOne(open) {
			close(h.returned)
			return
		}
	}
}

// canOpenOne says whether an outbox that is closed could be served now.
func (h *host) canOpenOne(ctx context.Context) bool {
	closed, _, err := h.examine(ctx, h.Config)
	return err == nil && slices.ContainsFunc(h.Config.Outboxes, func(o configs.Outbox) bool {
		return h.closed[o.Name] != nil && closed[o.Name] == nil && canOpen(o)
	})
}

// canOpen says whether an outbox and its roots can be opened.
func canOpen(o configs.Outbox) bool {
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
