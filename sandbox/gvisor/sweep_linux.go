package gvisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
)

// Purge removes everything of an installation except its files, even if no sandbox can be made any more. It needs the
// options Installation, StateDir and Known. It removes nothing while a run's sandbox lies in another directory.
func Purge(ctx context.Context, options Options) (err error) {
	if options.Options, err = options.CheckedForPurge(); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	l := newLauncher(options)
	if err := l.reachesAll(); err != nil {
		return err
	}
	if _, err := os.Stat(l.dir()); errors.Is(err, fs.ErrNotExist) {
		return l.dropGroups(ctx)
	}
	if l.slots, err = local.OpenAnySlots(l.slotsDir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.purge(ctx)
}

// reachesAll refuses to purge while a run's sandbox lies in another directory: the sandbox's processes and its control
// group are still on this machine.
func (l *Launcher) reachesAll() (err error) {
	if len(l.options.Known) == 0 {
		return nil
	}
	if err := l.boxes.Recall(); err != nil {
		return err
	}
	for _, h := range l.elsewhere() {
		return fmt.Errorf("%w; nothing of it can be purged from here: bring that directory back to %s, or give its run up with "+
			"watcher cancel --abandon; then purge again", h.On(l.boxes.Site()), l.dir())
	}
	return nil
}

func (l *Launcher) purge(ctx context.Context) error {
	ids, err := l.boxes.All()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	errs := []error{err}
	for _, id := range ids {
		errs = append(errs, l.Remove(ctx, sandbox.Handle{ID: id}))
	}
	return errors.Join(errors.Join(errs...), l.slots.Sweep(nil), l.dropGroups(ctx))
}

// dropGroups removes all control groups of the installation, and then the group that contains them.
func (l *Launcher) dropGroups(ctx context.Context) error {
	if err := l.sweepGroups(ctx, nil); err != nil {
		return err
	}
	return l.groups.Drop(ctx)
}

// sweep takes over the sandboxes from before a restart, and removes everything that was left unfinished.
func (l *Launcher) sweep(ctx context.Context) error {
	ids, err := l.boxes.All()
	if err != nil {
		return fmt.Errorf("list the sandboxes: %w", err)
	}
	claims := l.claims(ids)
	slices.SortStableFunc(ids, func(a, b string) int { return claims[a].compare(claims[b]) })
	kept, unread := map[string]bool{}, false
	for _, id := range ids {
		r, err := l.boxes.Read(id)
		switch {
		case errors.Is(err, boxes.ErrDamaged):
			l.options.Log.Warn("removing a sandbox, because its record is damaged", "error", err)
			if err := l.Remove(ctx, sandbox.Handle{ID: id}); err != nil {
				return err
			}
			continue
		case err != nil:
			l.options.Log.Warn("the record of a sandbox cannot be read; the watcher leaves the sandbox alone, and removes nothing from slots",
				"sandbox", id, "error", err)
			unread = true
		default:
			err := l.takeUp(ctx, r)
			if errors.Is(err, mounts.ErrSlotInUse) && claims[id].idle > 0 {
				l.options.Log.Warn("a sandbox that does not run is not removed yet, and another one has its slot", "sandbox", id)
			} else if err != nil {
				return fmt.Errorf("take up sandbox %s: %w", id, err)
			}
		}
		kept[id] = true
	}
	if err := l.boxes.DropUnfinished(); err != nil {
		return fmt.Errorf("remove the remains of an earlier start: %w", err)
	}
	if kept[trialID] {
		if err := l.Remove(ctx, sandbox.Handle{ID: trialID}); err != nil {
			return err
		}
		delete(kept, trialID)
	}
	if err := l.keepElsewhere(kept); err != nil {
		return err
	}
	if unread {
		return errors.Join(l.holdSlots(), l.sweepGroups(ctx, kept))
	}
	return errors.Join(l.slots.Sweep(nil), l.sweepGroups(ctx, kept))
}

// claim decides which of two sandboxes keeps a slot that both their records name. That happens because a removal gives
// the slot back before it removes the box: if the watcher is killed in between, the next sandbox gets the slot. A sandbox
// that runs keeps the slot, and a sandbox that has ended loses it to any other. Of two in the same state the newer keeps it,
// because the older one had given the slot back by then.
type claim struct {
	idle int // 0: it runs, or may run; 1: it does not; 2: it has ended
	made time.Time
}

// compare puts the better claim first.
func (c claim) compare(other claim) int {
	return cmp.Or(cmp.Compare(c.idle, other.idle), other.made.Compare(c.made))
}

func (l *Launcher) claims(ids []string) map[string]claim {
	idle := map[keeper.State]int{keeper.Created: 1, keeper.Lost: 1, keeper.Over: 2}
	all := map[string]claim{}
	for _, id := range ids {
		r, unread := l.boxes.Read(id)
		state, unseen := l.boxes.Keeper(id).State()
		if unread == nil && unseen == nil {
			all[id] = claim{idle[state], r.Made}
		}
	}
	return all
}

// elsewhere returns the sandboxes of unended runs whose boxes lie in another directory.
func (l *Launcher) elsewhere() (all []sandbox.Handle) {
	for _, h := range l.options.Known {
		if h.On(l.boxes.Site()) != nil {
			all = append(all, h)
		}
	}
	return all
}

// keepElsewhere takes the slots of sandboxes in another directory and never gives them back, because their user ids are
// in use. It marks their control groups as kept, because all directories share the groups.
func (l *Launcher) keepElsewhere(kept map[string]bool) error {
	for _, h := range l.elsewhere() {
		kept[h.ID] = true
		if _, err := l.slots.Adopt(h.Slot); err != nil && !errors.Is(err, mounts.ErrSlotInUse) {
			return fmt.Errorf("keep the slot of sandbox %s, which is in another directory: %w", h.ID, err)
		}
	}
	return nil
}

// holdSlots keeps every slot that is not empty from being emptied or given away. One of these slots, with its identity,
// belongs to a sandbox whose record cannot be read.
func (l *Launcher) holdSlots() error {
	left, err := l.slots.Leftovers()
	for _, number := range left {
		_, adopted := l.slots.Adopt(number)
		err = errors.Join(err, adopted)
	}
	return err
}

// takeUp adopts the slot of a sandbox, and holds its image.
func (l *Launcher) takeUp(ctx context.Context, r boxes.Record) (err error) {
	id := string(r.Sandbox)
	var held holding
	if held.slot, err = l.slots.Adopt(r.Slot); err != nil {
		return err
	}
	if r.Image != "" {
		if held.image, err = l.images.Use(ctx, r.Image); err != nil { // it lives on with its mounts
			l.options.Log.Warn("a sandbox's image is not in the cache any more", "sandbox", id, "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[id] = held
	return nil
}

// sweepGroups removes the control groups of boxes that are gone.
func (l *Launcher) sweepGroups(ctx context.Context, kept map[string]bool) error {
	left, err := l.groups.Sandboxes()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range left {
		if !kept[name] {
			errs = append(errs, l.killRest(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// sharedName matches the name of a directory that sandboxes share: its kind, and a hash of its content.
var sharedName = regexp.MustCompile(`^(etc|init)-[0-9a-f]{16}$`)

// sweepShared removes shared directories of earlier programs and settings that no sandbox uses any more. Each sandbox's
// record names the shared directories that it uses, whichever watcher made the sandbox. If any record does not name
// them, sweepShared removes nothing.
func (l *Launcher) sweepShared(context.Context) error {
	used, known, err := l.boxes.Shared()
	if err != nil || !known {
		return err
	}
	for _, name := range l.shared.names(true) {
		used[name] = true
	}
	entries, err := os.ReadDir(l.dir())
	for _, entry := range entries {
		name := entry.Name()
		if sharedName.MatchString(name) && !used[name] {
			err = errors.Join(err, os.Rename(filepath.Join(l.dir(), name), filepath.Join(l.dir(), droppedName+name)))
		}
	}
	dropped, _ := filepath.Glob(filepath.Join(l.dir(), droppedName+"*")) // it fails only for bad patterns
	for _, dir := range dropped {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		l.options.Log.Warn("directories that sandboxes once shared cannot all be removed", "error", err)
	}
	return nil
}

// droppedName is a prefix for directories that are being removed, so that a half-removed directory is never used.
const droppedName = ".dropped-"
