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

// A parent owns its outbox, and perhaps the directories around it. So anything that a parent can do to them only closes
// its own outbox. It never keeps the watcher from starting or reloading, and never ends it. A closed outbox keeps its
// place in the configuration: a stand-in takes the place of its directory (delegation.OpenNowhere), and its runs in the
// journal wait. The watcher looks at the outbox until it can be served. Then the watcher opens everything anew, under
// the same configuration.

// closedOutboxes says why outboxes are not served. Its keys are names of outboxes.
type closedOutboxes map[string]error

// lines returns a line for each outbox that is not served, with the reason.
func (c closedOutboxes) lines() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, fmt.Sprintf("outbox %s is not served: %v", name, c[name]))
	}
	return all
}

// silent returns the closed outboxes whose file systems do not answer.
func (c closedOutboxes) silent() closedOutboxes {
	silent := maps.Clone(c)
	maps.DeleteFunc(silent, func(_ string, why error) bool { return !errors.Is(why, errSilent) })
	return silent
}

// openOnes removes the closed outboxes from a configuration.
func openOnes(c configs.Config, closed closedOutboxes) configs.Config {
	c.Outboxes = slices.DeleteFunc(slices.Clone(c.Outboxes), func(o configs.Outbox) bool { return closed[o.Name] != nil })
	return c
}

// errSilent closes an outbox whose file system hangs.
var errSilent = errors.New("the file system of a directory of the outbox does not answer")

// outboxCalls describes the looks at directories of outboxes. Such a look may hang.
var outboxCalls = hang.Kind{
	Yield: 100 * time.Millisecond, // more time for a look whose context is done
	Err:   errSilent,
	First: "the file system of an outbox does not answer; meanwhile the outbox is not served",
	Many:  "too many checks wait for the file system of an outbox; no other starts until one returns",
	Over:  "the file system of an outbox answers again",
}

// lookTime bounds a look at everything that a configuration names.
const lookTime = time.Minute

// finding holds the results of a look at the machine: the outboxes that are closed, and warnings for the operator.
type finding struct {
	closed   closedOutboxes
	warnings []configs.Warning
}

// seen is an outbox as a look has found it.
type seen struct {
	outbox   configs.Outbox // as configured
	there    configs.Outbox // with the directories where they really are
	warnings []configs.Warning
}

// isPlain reports whether every directory lies at its configured path, and not where links lead.
func (s seen) isPlain() bool {
	return s.outbox.Dir == s.there.Dir && slices.Equal(s.outbox.Allow, s.there.Allow) && slices.Equal(s.outbox.Read, s.there.Read)
}

// examine looks at everything that a configuration names on this machine.
func (h *host) examine(ctx context.Context, c configs.Config) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return hang.DoUnlessFull(ctx, h.hangs, "all outboxes", func() (finding, error) { return h.look(ctx, c) }, nil)
}

// look finds the outboxes that cannot be served. First it looks at each outbox by itself. Then it compares the
// directories as it found them, so a change that a parent makes meanwhile closes no other parent's outbox. If outboxes
// clash, it closes the outbox that has links in its paths. An outbox that lies at its configured path cannot be moved
// into the directory of another.
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

// plainFirst splits outboxes into two groups: outboxes that lie at their configured paths, and outboxes that have links
// in their paths.
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

// withOutboxes returns the configuration with these outboxes and no others.
func withOutboxes(c configs.Config, these ...configs.Outbox) configs.Config {
	c.Outboxes = these
	return c
}

// lookAtEach looks at the outboxes, at each for a bounded time. If a file system does not answer, that closes its own
// outbox alone.
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

// placesOf returns where roots really are. at is where the outbox really is. Roots inside the outbox are only given a
// path there: they are looked up anew for every run.
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

// placeOf returns where a directory really is. It opens the directory and asks for the path of the open one, so a link
// that changes a moment later cannot mislead it. It goes through no link that a parent may have made.
func placeOf(path string) (string, error) {
	held, err := mounts.OpenTrustedDir(path)
	if err != nil {
		return "", err
	}
	defer held.Close()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", held.Fd()))
}

// lookAround examines this host's configuration: it logs the warnings and notes the closed outboxes. It fails if no
// outbox can be served and none ever was, unless a file system does not answer.
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
		_, err = h.Config.CheckHost() // its error names all problems at once
	}
	return err
}

// servesNobody reports whether no outbox can be served, and none ever was. Then the operator has named the wrong
// directories.
func (h *host) servesNobody() bool { return h.first && len(h.closed) == len(h.Config.Outboxes) }

// closeOutbox puts a stand-in in the place of an outbox's directory.
func (h *host) closeOutbox(i int, why error) error {
	o, held := h.Config.Outboxes[i], h.dirs[i]
	h.Log.Error("an outbox is not served; the watcher looks at it again until it can serve it, and serves the others",
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

// isClosed reports whether an outbox is not served.
func (h *host) isClosed(i int) bool { return h.closed[h.Config.Outboxes[i].Name] != nil }

// reopenEvery is how often the host looks again at closed outboxes.
const reopenEvery = 2 * time.Second

// awaitClosed closes h.canReopen when a closed outbox can be served. It gives up when open ends. If a look hangs, it
// leaves that look behind.
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

// rehearse opens the outboxes as the next host would, and returns the outboxes that would be closed.
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
