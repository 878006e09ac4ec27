package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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
// never a mistake for which the watcher does not start, does not reload or ends. A closed outbox keeps its place in the
// configuration: a stand-in takes the place of its directory (delegation.OpenNowhere), and the journal's runs of it wait. It is
// looked at until it can be served. Then everything is opened anew, under the same configuration.

// closedOutboxes say why outboxes are not served, by name.
type closedOutboxes map[string]error

// lines tell which outboxes are not served, and why.
func (c closedOutboxes) lines() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, fmt.Sprintf("outbox %s is not served: %v", name, c[name]))
	}
	return all
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

// errSilent closes an outbox whose file system hangs.
var errSilent = errors.New("the file system of a directory of the outbox does not answer")

// outboxCalls are looks at the directories of outboxes, which may hang.
var outboxCalls = hang.Kind{
	Yield: 100 * time.Millisecond, // for a look that ends when its context does
	Err:   errSilent,
	First: "the file system of an outbox does not answer; it is not served meanwhile",
	Many:  "too many looks wait for the file system of an outbox; there is no other until one returns",
	Over:  "the file system of an outbox answers again",
}

// lookTime is how long a look at all that a configuration names may take.
const lookTime = time.Minute

// finding is what a look at the machine has found: what closes outboxes, and what the operator has to mend before anything is
// served.
type finding struct {
	closed   closedOutboxes
	warnings []configs.Warning
}

// examine looks at what a configuration names on this machine.
func (h *host) examine(ctx context.Context, c configs.Config) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return hang.DoUnlessFull(ctx, h.hangs, "all outboxes", func() (finding, error) { return h.look(ctx, c) }, nil)
}

// look finds the outboxes that cannot be served. A problem of several outboxes closes the one that links lead to the other: one
// that lies where it is written cannot be moved into another's directory.
func (h *host) look(ctx context.Context, c configs.Config) (f finding, err error) {
	if f.warnings, err = c.CheckMachine(); err != nil {
		return f, err
	}
	f.closed = h.silent(ctx, c)
	for _, o := range openOnes(c, f.closed).Outboxes {
		if why := alone(c, o); why != nil {
			f.closed[o.Name] = why
		}
	}
	together := beside(c, nil)
	for _, group := range plainFirst(openOnes(c, f.closed).Outboxes) {
		all := beside(c, together.Outboxes, group...)
		if _, err := all.CheckOutboxes(); err == nil {
			together = all
			continue
		}
		for _, o := range group {
			with := beside(c, together.Outboxes, o)
			if _, err := with.CheckOutboxes(); err != nil {
				f.closed[o.Name] = err
				continue
			}
			together = with
		}
	}
	warnings, err := together.CheckOutboxes()
	f.warnings = append(f.warnings, warnings...)
	return f, err
}

// plainFirst parts outboxes that lie where they are written from those to which links lead.
func plainFirst(all []configs.Outbox) (groups [2][]configs.Outbox) {
	for _, o := range all {
		group := &groups[1]
		if o.IsPlain() {
			group = &groups[0]
		}
		*group = append(*group, o)
	}
	return groups
}

// beside is a configuration with these outboxes and some more.
func beside(c configs.Config, these []configs.Outbox, more ...configs.Outbox) configs.Config {
	c.Outboxes = slices.Concat(these, more)
	return c
}

// alone says why an outbox could not be served if there were no other.
func alone(c configs.Config, o configs.Outbox) error {
	c.Outboxes = []configs.Outbox{o}
	if _, err := c.CheckOutboxes(); err != nil {
		return err
	}
	dir, err := delegation.OpenDir(o.Dir)
	if err != nil {
		return err
	}
	bases, err := mounts.OpenBases(roots(c.Outboxes))
	if err == nil {
		err = bases.Close()
	}
	return errors.Join(err, dir.Close())
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

// lookAround looks at what the configuration names on this machine.
func (h *host) lookAround(ctx context.Context) error {
	f, err := h.examine(ctx, h.Config)
	if err != nil {
		return err
	}
	for _, w := range f.warnings {
		h.Log.Warn("look at the configuration", "warning", w.String())
	}
	h.closed = f.closed
	_, unserved := os.Lstat(filepath.Join(h.Config.State, JournalName))
	h.first = errors.Is(unserved, fs.ErrNotExist)
	if h.servesNobody() && len(f.closed.silent()) == 0 {
		_, err = h.Config.CheckHost() // which names all at once
	}
	return err
}

// servesNobody says whether no outbox can be served, and none ever was: then the operator has named the wrong directories.
func (h *host) servesNobody() bool { return h.first && len(h.closed) == len(h.Config.Outboxes) }

// closeOutbox has a stand-in take the place of an outbox's directory.
func (h *host) closeOutbox(i int, why error) error {
	o, held := h.Config.Outboxes[i], h.dirs[i]
	h.Log.Error("an outbox is not served; it is looked at again until it can be, and the others are served",
		"outbox", o.Name, "because", why)
	stand, err := delegation.OpenNowhere(o.Dir, h.Config.State, why)
	if err != nil {
		return err
	}
	h.closed[o.Name], h.dirs[i] = why, stand
	if held == nil {
		return nil
	}
	return held.Close()
}

// isClosed says whether an outbox is not served.
func (h *host) isClosed(i int) bool { return h.closed[h.Config.Outboxes[i].Name] != nil }

// reopenEvery is how often closed outboxes are looked at again.
const reopenEvery = 2 * time.Second

// awaitClosed closes h.canReopen when a closed outbox can be served, unless open ends first. A look that hangs is left behind.
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
		closed, err := hang.DoUnlessFull(open, h.hangs, "closed outboxes", func() (closedOutboxes, error) { return h.rehearse(open) }, nil)
		if err == nil && slices.ContainsFunc(slices.Collect(maps.Keys(h.closed)), func(name string) bool { return closed[name] == nil }) {
			close(h.canReopen)
			return
		}
	}
}

// rehearse opens the outboxes as the next host would, and says which would be closed.
func (h *host) rehearse(ctx context.Context) (closedOutboxes, error) {
	next := &host{Options: h.Options}
	next.Log = slog.New(slog.DiscardHandler)
	err := next.lookAround(ctx)
	if err == nil {
		err = next.openOutboxes(ctx)
	}
	if err == nil {
		err = next.openRoots(ctx)
	}
	return next.closed, errors.Join(err, next.close())
}
