package gvisor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/gvisor/bundle"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/lay"
)

// ahead holds the launcher's knowledge of a sandbox that was made ahead, until its run comes.
type ahead struct {
	nonce   string
	who     mounts.Identity
	sockets []sandbox.Socket // the places for sockets
}

// errOrdinary says why an ordinary user's launcher makes no sandboxes ahead.
var errOrdinary = errors.New("a watcher that is not root cannot mount anything in a started sandbox: its keeper has given up that right")

// CanPrepare returns nil if sandboxes can be made ahead of runs here, or else the reason why not.
func (l *Launcher) CanPrepare() error {
	switch {
	case l.rootless:
		return errOrdinary
	case l.unattested != "":
		return fmt.Errorf("sandboxes cannot be attested: %s", l.unattested)
	case l.unbound != nil:
		return fmt.Errorf("a workspace could not be shown in a sandbox later; this needs the runsc that `make build` makes: %w", l.unbound)
	}
	return nil
}

// lateDir returns the path of a view whose mount arrives later at its prefix itself. gVisor's kernel opens the root of
// a mount once, when the sandbox begins, and asks the host again only below it. So such a view lies in its lateDir, the
// mount arrives inside it, and the kernel is told to bind it at the prefix.
func lateDir(view int) string { return path.Join(bundle.LateDir, strconv.Itoa(view)) }

// seen returns the path where the gofer sees a mount of a view. The gofer knows nothing of the binds that the sandbox's
// kernel makes.
func seen(v local.View, target string) (string, error) {
	if v.OnTheWay() {
		return target, nil
	}
	rel, err := v.Rel(target)
	return path.Join(lateDir(v.Number), rel), err
}

// Prepare makes a sandbox of a given shape without a run. Start and Open work with it as with every other sandbox.
func (l *Launcher) Prepare(ctx context.Context, id sandbox.SandboxID, shape sandbox.Shape) (h sandbox.Handle, err error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	if err := l.CanPrepare(); err != nil {
		return sandbox.Handle{}, err
	}
	unlock, err := l.busy.lock(ctx, string(id))
	if err != nil {
		return sandbox.Handle{}, err
	}
	defer unlock()
	if _, err := l.boxes.Read(string(id)); !errors.Is(err, sandbox.ErrNotFound) {
		return sandbox.Handle{}, errors.Join(fmt.Errorf("sandbox %s exists already", id), err)
	}
	m := &making{Launcher: l, Making: local.Making{Order: local.Order{ID: id, Spec: shape.Spec(), Bases: l.options.Bases}}, ahead: true}
	m.record.Ahead = true
	defer func() {
		if err != nil {
			err = errors.Join(err, m.RollBack())
		}
	}()
	err = local.RunSteps(ctx, m.CheckSpec, m.takeSlot, m.layPlaces, m.addDoors, m.layRoot, m.writeUser, m.finish)
	if err != nil {
		return sandbox.Handle{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead[string(id)] = &ahead{nonce: m.recipe.Nonce, who: m.who, sockets: shape.Sockets}
	return m.boxes.Handle(m.record), nil
}

// layPlaces makes the views, which are empty and closed. It also makes the places where the sandbox's kernel will bind
// mounts later.
func (m *making) layPlaces(context.Context) error {
	for _, v := range local.Views(m.Spec.Mounts) {
		source, err := m.Slot.ViewDir(v.Number)
		if err != nil {
			return err
		}
		shown := bundle.Bind{Source: source, Target: v.Prefix, Dir: true, Deep: true}
		for _, i := range v.Mounts {
			shown.Writable = shown.Writable || m.Spec.Mounts[i].Workspace
		}
		if !v.OnTheWay() {
			file, err := local.ArrivesFile(v, m.Spec.Mounts)
			if err != nil {
				return err
			}
			shown.Target = lateDir(v.Number)
			m.recipe.Places = append(m.recipe.Places, bundle.Place{Target: v.Prefix, Dir: !file})
		}
		m.recipe.Mounts = append(m.recipe.Mounts, shown)
		m.record.Views.Frames = append(m.record.Views.Frames, v.Number)
	}
	m.hideFuse()
	return errors.Join(m.record.Views.Frame(m.Slot), m.record.Views.Seal(m.Slot))
}

// addDoors makes the channels for doors whose sockets are not known yet.
func (m *making) addDoors(context.Context) error {
	for _, socket := range m.Spec.Sockets {
		m.doors = append(m.doors, keeper.Door{})
		m.recipe.Doors = append(m.recipe.Doors, socket.Target)
	}
	return nil
}

func (m *making) writeUser(context.Context) error {
	return errors.Join(m.showFiles(), local.WriteBase(m.Slot.RunDir(), m.who, m.filter))
}

// Furnish brings a run into a sandbox that was made ahead and whose init holds. A *delegation.Refusal is the fault of
// the request. After any error the sandbox has to be removed.
func (l *Launcher) Furnish(ctx context.Context, h sandbox.Handle, spec sandbox.Spec) (sandbox.Handle, error) {
	if err := local.CheckGuarantees(spec, l.guarantees); err != nil {
		return h, err
	}
	unlock, err := l.busy.lock(ctx, h.ID)
	if err != nil {
		return h, err
	}
	defer unlock()
	record, err := l.boxes.Read(h.ID)
	if err != nil {
		return h, err
	}
	l.mu.Lock()
	place, held := l.ahead[h.ID], l.held[h.ID]
	delete(l.ahead, h.ID) // it can be furnished only once
	l.mu.Unlock()
	if place == nil || !record.Ahead {
		return h, fmt.Errorf("furnish sandbox %s, which was not made ahead of a run: %w", h.ID, sandbox.ErrNotHeld)
	}
	a := &arrival{making: &making{Launcher: l, Making: local.Making{
		Order: local.Order{ID: h.Sandbox, Spec: spec, Bases: l.options.Bases}, Slot: held.slot,
	}, who: place.who, record: record}, place: place}
	a.recipe.Nonce = place.nonce
	defer func() { a.Pins.Close() }()
	err = local.RunSteps(ctx, a.CheckSpec, a.PinMounts, a.layArrived, a.tellAll)
	return l.boxes.Handle(a.record), err
}

// arrival is a run on its way into a sandbox that was made ahead.
type arrival struct {
	*making
	place *ahead
}

// layArrived moves the run's mounts into the views. From then on the sandbox's gofer sees them.
func (a *arrival) layArrived(context.Context) error {
	frames := lay.Views{Frames: a.record.Views.Frames}
	if err := frames.Unseal(a.Slot); err != nil {
		return err
	}
	if err := a.Pins.Lay(a.Slot, local.IDs{Range: a.options.UIDs, Maps: a.idmaps}); err != nil {
		return err
	}
	if err := frames.Seal(a.Slot); err != nil {
		return err
	}
	planned, err := a.planViews()
	if err != nil {
		return err
	}
	a.record.Views = lay.Views{Mounts: planned.Mounts, Frames: frames.Frames}
	return a.record.Views.Prove(a.Slot)
}

func (a *arrival) writeArrived(context.Context) error { return a.run().WriteRun(a.Slot.RunDir()) }

// tellKeeper tells the keeper where the doors lead, and how long the run may take.
func (a *arrival) tellKeeper(ctx context.Context) error {
	news := keeper.Arrival{Allowed: a.Spec.Longest()}
	for i, socket := range a.Spec.Sockets {
		if i >= len(a.place.sockets) || a.place.sockets[i].Target != socket.Target {
			return fmt.Errorf("the sandbox has no place for the socket %s", socket.Target)
		}
		door, err := a.doorTo(socket)
		if err != nil {
			return err
		}
		news.Doors = append(news.Doors, door)
	}
	return a.boxes.Keeper(string(a.ID)).Bring(ctx, news)
}

// note updates the record of the sandbox with the run.
func (a *arrival) note(context.Context) error {
	a.record.Ahead = false
	a.record.Device, a.record.Inode = a.Pins.Workspace()
	expected := local.Wants(a.Pins.Expected(true))
	for _, v := range local.Views(a.Spec.Mounts) {
		for _, i := range v.Mounts {
			var err error
			if expected[i].Target, err = seen(v, a.Spec.Mounts[i].Target); err != nil {
				return err
			}
		}
	}
	a.record.Wanted = append(a.record.Wanted, expected...)
	return a.boxes.Rewrite(a.record)
}

// tellAll tells the sandbox's kernel about the mounts, and does everything else for the run at the same time. The
// kernel takes longer than all the rest.
func (a *arrival) tellAll(ctx context.Context) error {
	var bound error
	var binding sync.WaitGroup
	binding.Go(func() { bound = a.bindArrived(ctx) })
	err := local.RunSteps(ctx, a.writeArrived, a.tellKeeper, a.note)
	binding.Wait()
	return errors.Join(err, bound)
}

// bindArrived makes the sandbox's kernel bind, at each prefix, the mount that arrives at the prefix itself.
func (a *arrival) bindArrived(ctx context.Context) error {
	for _, v := range local.Views(a.Spec.Mounts) {
		if v.OnTheWay() {
			continue
		}
		from, err := seen(v, v.Prefix)
		if err != nil {
			return err
		}
		if err := a.runsc().Bind(ctx, string(a.ID), from, v.Prefix); err != nil {
			return err
		}
	}
	return nil
}

// Weigh returns how much memory a sandbox uses, as its control group counts it, or 0 if that is not known.
func (l *Launcher) Weigh(h sandbox.Handle) int64 {
	sentry, err := l.boxes.Keeper(h.ID).Sentry()
	if err != nil || l.groups.Err() != nil {
		return 0
	}
	return attest.MemoryOf(sentry)
}
