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
	"strings"
	"sync"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
	"torno/internal/paths"
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

// seen is an outbox as a look at it has found it.
type seen struct {
	outbox   configs.Outbox // as it is configured
	there    configs.Outbox // with the directories where they are
	warnings []configs.Warning
}

// isPlain says whether everything lies where it is written, and not where links lead.
func (s seen) isPlain() bool {
	return s.outbox.Dir == s.there.Dir && slices.Equal(s.outbox.Allow, s.there.Allow) && slices.Equal(s.outbox.Read, s.there.Read)
}

// examine looks at what a configuration names on this machine.
func (h *host) examine(ctx context.Context, c configs.Config) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return hang.DoUnlessFull(ctx, h.hangs, "all outboxes", func() (finding, error) { return h.look(ctx, c) }, nil)
}

// look finds the outboxes that cannot be served. It looks at each by itself, and compares the directories where they were then: what a parent
// does meanwhile closes no other's outbox. A problem of several outboxes closes the one that links lead to the other: one that lies where
// it is written cannot be moved into another's directory.
func (h *host) look(ctx context.Context, c configs.Config) (f finding, err error) {
	if f.warnings, err = c.CheckMachine(); err != nil {
		return f, err
	}
	all, closed := h.lookAtEach(ctx, c)
	f.closed = closed
	var apart []configs.Outbox
	for _, group := range plainFirst(all) {
		together := apart
		for _, s := range group {
			together = append(together, s.there)
		}
		if _, err := withOutboxes(c, together...).CheckApart(); err == nil {
			apart = together
			continue
		}
		for _, s := range group {
			more := append(apart, s.there)
			if _, err := withOutboxes(c, more...).CheckApart(); err != nil {
				f.closed[s.outbox.Name] = err
				continue
			}
			apart = more
		}
	}
	for _, s := range all {
		if f.closed[s.outbox.Name] == nil {
			f.warnings = append(f.warnings, s.warnings...)
		}
	}
	shared, err := withOutboxes(c, apart...).CheckApart()
	for _, w := range shared {
		if !slices.Contains(f.warnings, w) {
			f.warnings = append(f.warnings, w)
		}
	}
	return f, err
}

// plainFirst parts outboxes that lie where they are written from those to which links lead.
func plainFirst(all []seen) (groups [2][]seen) {
	for _, s := range all {
		group := &groups[1]
		if s.isPlain() {
			group = &groups[0]
		}
		*group = append(*group, s)
	}
	return groups
}

// withOutboxes is a configuration with these outboxes and no others.
func withOutboxes(c configs.Config, these ...configs.Outbox) configs.Config {
	c.Outboxes = these
	return c
}

// lookAtEach looks at the outboxes, each for a bounded time: a file system that does not answer closes its own outbox alone.
func (h *host) lookAtEach(ctx context.Context, c configs.Config) (all []seen, closed closedOutboxes) {
	ctx, cancel := context.WithTimeout(ctx, h.Timing.respond())
	defer cancel()
	found, errs := make([]seen, len(c.Outboxes)), make([]error, len(c.Outboxes))
	var looks sync.WaitGroup
	for i, o := range c.Outboxes {
		looks.Go(func() {
			found[i], errs[i] = hang.DoUnlessFull(ctx, h.hangs, o.Dir, func() (seen, error) { return lookAlone(c, o) }, nil)
		})
	}
	looks.Wait()
	closed = closedOutboxes{}
	for i, o := range c.Outboxes {
		if errs[i] != nil {
			closed[o.Name] = errs[i]
			continue
		}
		all = append(all, found[i])
	}
	return all, closed
}

// lookAlone looks at an outbox as if there were no other.
func lookAlone(c configs.Config, o configs.Outbox) (s seen, err error) {
	alone := withOutboxes(c, o)
	s = seen{outbox: o, there: o}
	if s.warnings, err = alone.CheckOutboxes(); err != nil {
		return s, err
	}
	dir, err := delegation.OpenDir(o.Dir)
	if err != nil {
		return s, err
	}
	defer dir.Close()
	if s.there.Dir, err = placeOf(o.Dir); err != nil {
		return s, err
	}
	if s.there.Allow, err = placesOf(o.Allow, o.Dir, s.there.Dir); err != nil {
		return s, err
	}
	s.there.Read, err = placesOf(o.Read, o.Dir, s.there.Dir)
	return s, err
}

// placesOf returns where roots are. Those in the outbox, which is at a place, are looked up anew for every run.
func placesOf(roots []string, outbox, at string) (all []string, err error) {
	for _, root := range roots {
		place := at + strings.TrimPrefix(root, outbox)
		if !paths.Within(outbox, root) {
			if place, err = placeOf(root); err != nil {
				return nil, err
			}
		}
		all = append(all, place)
	}
	return all, nil
}

// placeOf returns where a directory is. It asks what it holds, so it tells no place to which a link leads that comes a moment later; and it goes
// through no link that a parent may have made.
func placeOf(path string) (string, error) {
	held, err := mounts.OpenTrustedDir(path)
	if err != nil {
		return "", err
	}
	defer held.Close()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", held.Fd()))
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
