package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"torno/internal/mounts"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/keeper"
)

// List returns all boxes. A sandbox whose keeper was killed is killed, too, before it is listed as ended.
func (l *Launcher) List(ctx context.Context) ([]sandbox.Handle, error) {
	ids, err := l.boxes.All()
	if err = errors.Join(l.boxes.Prove(), err); err != nil {
		return nil, fmt.Errorf("list the sandboxes: %w", err)
	}
	all := []sandbox.Handle{}
	for _, id := range ids {
		h, err := l.find(ctx, id)
		if errors.Is(err, sandbox.ErrNotFound) {
			continue // removed since
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			l.options.Log.Warn("a sandbox cannot be looked at, and is left alone", "sandbox", id, "error", err)
			h.Launcher, h.Site, h.ID, h.Sandbox = Name, l.boxes.Site(), id, sandbox.SandboxID(id)
			h.State, h.Exit = sandbox.HandleUncertain, nil
		}
		if h.ID != trialID {
			all = append(all, h)
		}
	}
	return all, nil
}

func (l *Launcher) find(ctx context.Context, id string) (sandbox.Handle, error) {
	r, err := l.boxes.Read(id)
	if err != nil {
		return sandbox.Handle{}, err
	}
	h := l.boxes.Handle(r)
	state, err := l.boxes.Keeper(id).State()
	switch {
	case err != nil:
		return h, fmt.Errorf("look at sandbox %s: %w", id, err)
	case state == keeper.Created:
		h.State = sandbox.HandleCreated
		return h, nil
	case state == keeper.Live:
		h.State = sandbox.HandleRunning
		return h, nil
	}
	exit, err := l.afterKeeper(ctx, id)
	h.State, h.Exit = sandbox.HandleExited, &exit
	return h, err
}

// afterKeeper is how a sandbox ended whose keeper is gone. One of which nobody knows is dead afterwards.
func (l *Launcher) afterKeeper(ctx context.Context, id string) (sandbox.Exit, error) {
	if _, err := l.boxes.Read(id); err != nil {
		return sandbox.Exit{}, err
	}
	end, err := l.boxes.Keeper(id).End()
	if err == nil {
		return exitOf(end), nil
	}
	if !errors.Is(err, keeper.ErrGone) {
		return sandbox.Exit{}, fmt.Errorf("read how sandbox %s ended: %w", id, err)
	}
	if err := l.killRest(ctx, id); err != nil {
		return sandbox.Exit{}, fmt.Errorf("end sandbox %s, whose keeper was killed: %w", id, err)
	}
	return sandbox.Exit{Unknown: true, Why: "its keeper was killed"}, nil
}

// Remove ends what runs and removes the sandbox.
func (l *Launcher) Remove(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.boxes.Site()); err != nil {
		return err
	}
	unlock, err := l.lock(ctx, h.ID)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.boxes.Read(h.ID)
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	if err != nil && !errors.Is(err, boxes.ErrDamaged) {
		return err
	}
	if line := l.takeLine(h.ID); line != nil {
		line.Close()
	}
	l.takePins(h.ID).Close()
	taken, err := l.end(ctx, h.ID)
	if err != nil {
		return fmt.Errorf("end sandbox %s: %w", h.ID, err)
	}
	defer taken.Close()
	return l.discard(r)
}

// end kills the sandbox and waits until its keeper is gone. The box is taken, so that no other can begin.
func (l *Launcher) end(ctx context.Context, id string) (io.Closer, error) {
	box := l.boxes.Keeper(id)
	for {
		taken, err := box.Take()
		if err == nil {
			return taken, l.killRest(ctx, id)
		}
		if !keeper.IsHeld(err) {
			return nil, err
		}
		if err := l.dismiss(ctx, id); err != nil {
			return nil, err
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return nil, err
		}
	}
}

// killRest kills what is left of a sandbox without a keeper, and removes its control group. One of which a keeper has written
// down the end is dead. Another need not have been started in a group, if the machine has been changed since.
func (l *Launcher) killRest(ctx context.Context, id string) error {
	if err := l.removeGroup(ctx, id); err != nil {
		return err
	}
	if state, err := l.boxes.Keeper(id).State(); err != nil || state != keeper.Lost {
		return nil //nolint:nilerr // a box that cannot be read says of no process that it is its own
	}
	return command.Kill(ctx, l.boxes.Path(id))
}

// removeGroup removes the group of a sandbox: ours, and the one that it was made for by a watcher that had others, as one that an
// ordinary user has started by another unit.
func (l *Launcher) removeGroup(ctx context.Context, id string) error {
	ours := l.groups.Plan(id, sandbox.Limits{})
	if ours != nil {
		if err := ours.Group().Remove(ctx); err != nil {
			return err
		}
	}
	order, err := l.boxes.Keeper(id).Order()
	if err != nil || order.Group == nil || ours != nil && maps.Equal(ours.Dirs, order.Group.Dirs) {
		return nil //nolint:nilerr // a box that cannot be read names none
	}
	if err := order.Group.Group().Remove(ctx); err != nil {
		return err
	}
	return order.Group.Above().Group().RemoveIfEmpty()
}

// discard removes what there is of a sandbox in which nothing runs: its slot first, so that a box without one is what a
// crash leaves, and not a slot that nobody knows.
func (l *Launcher) discard(r boxes.Record) error {
	if err := l.release(r); err != nil {
		return err
	}
	if err := l.runsc().Forget(string(r.Sandbox)); err != nil {
		return err
	}
	return l.boxes.Remove(string(r.Sandbox))
}

func (l *Launcher) release(r boxes.Record) error {
	l.mu.Lock()
	held, ok := l.held[string(r.Sandbox)]
	l.mu.Unlock()
	if !ok {
		return nil
	}
	if err := held.release(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, string(r.Sandbox))
	return nil
}

// sweep takes up what an earlier life left, and removes what it left unfinished.
func (l *Launcher) sweep(ctx context.Context) error {
	ids, err := l.boxes.All()
	if err != nil {
		return fmt.Errorf("list the sandboxes: %w", err)
	}
	kept, unread := map[string]bool{}, false
	for _, id := range ids {
		r, err := l.boxes.Read(id)
		switch {
		case errors.Is(err, boxes.ErrDamaged):
			l.options.Log.Warn("a sandbox is removed, of which nobody knows what it was", "error", err)
			if err := l.Remove(ctx, sandbox.Handle{ID: id}); err != nil {
				return err
			}
			continue
		case err != nil:
			l.options.Log.Warn("the record of a sandbox cannot be read; the sandbox is left alone, and what lies in slots stays there",
				"sandbox", id, "error", err)
			unread = true
		default:
			if err := l.takeUp(ctx, r); err != nil {
				return fmt.Errorf("take up sandbox %s: %w", id, err)
			}
		}
		kept[id] = true
	}
	if err := l.boxes.DropUnfinished(); err != nil {
		return fmt.Errorf("remove what an earlier start left: %w", err)
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

// elsewhere are the sandboxes of runs that have not ended whose box is in another directory than this one.
func (l *Launcher) elsewhere() (all []sandbox.Handle) {
	for _, h := range l.options.Known {
		if h.On(l.boxes.Site()) != nil {
			all = append(all, h)
		}
	}
	return all
}

// keepElsewhere takes the slots of sandboxes in another directory, and gives none of them back: their user ids are in use. Their control
// groups, which all directories share, are noted as kept.
func (l *Launcher) keepElsewhere(kept map[string]bool) error {
	for _, h := range l.elsewhere() {
		kept[h.ID] = true
		if _, err := l.slots.Claim(h.Slot); err != nil && !errors.Is(err, mounts.ErrSlotInUse) {
			return fmt.Errorf("keep the slot of sandbox %s, which is in another directory: %w", h.ID, err)
		}
	}
	return nil
}

// holdSlots keeps every slot that something lies in from being emptied or given away: one of them, with its identity, is that of a
// sandbox whose record cannot be read.
func (l *Launcher) holdSlots() error {
	left, err := l.slots.Leftovers()
	for _, number := range left {
		_, claimed := l.slots.Claim(number)
		err = errors.Join(err, claimed)
	}
	return err
}

// takeUp claims the slot of a sandbox, and holds its image.
func (l *Launcher) takeUp(ctx context.Context, r boxes.Record) (err error) {
	id := string(r.Sandbox)
	var held holding
	if held.slot, err = l.slots.Claim(r.Slot); err != nil {
		return err
	}
	if r.Image != "" {
		if held.image, err = l.images.Use(ctx, r.Image); err != nil { // it lives on with what it has mounted
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
