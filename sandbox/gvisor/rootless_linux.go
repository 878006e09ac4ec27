package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
	"torno/sandbox/local/lay"
)

// A watcher that is an ordinary user's can neither mount where others see it nor give its sandboxes users of their own. So
// what root's launcher mounts by itself, a plan has the keeper mount in namespaces that are the sandbox's; and the
// sandbox runs as the watcher's user, which is the only one there.

// identify decides as which user the sandbox runs, and which process mounts for it.
func (m *making) identify() (err error) {
	m.tree, m.who = m.Slot, m.options.UIDs.Of(m.Slot)
	if m.rootless {
		m.plan = &lay.Plan{Slots: m.slotsDir(), Slot: m.Slot.Number(), Covers: mounts.Covers{Dir: m.shared.system.Empty, File: m.shared.nothing}}
		m.tree = m.plan
		m.who, err = ourselves(m.Pins)
	}
	return err
}

// ourselves is the watcher's user, to whom a workspace has to belong: no other could be written there.
func ourselves(pins local.Pins) (mounts.Identity, error) {
	we := mounts.Identity{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	who, err := pins.Owner()
	if err == nil && who.UID != we.UID {
		err = &delegation.Refusal{
			Code: delegation.CodeIdentity, Field: "workspace",
			Text: fmt.Sprintf("The workspace belongs to user %d, and a watcher that is not root runs sandboxes as itself, user %d", who.UID, we.UID),
			Hint: "give the workspace to the watcher's user, or have the operator run the watcher as root",
		}
	}
	return we, err
}

// layViews brings the mounts of the request into the slot, or into the plan.
func (m *making) layViews() error {
	views, err := m.planViews()
	if err != nil {
		return err
	}
	m.record.Views = views
	if m.plan != nil {
		m.plan.Views = views
		return nil
	}
	if err := views.Frame(m.Slot); err != nil {
		return err
	}
	if err := m.Pins.Lay(m.Slot, local.IDs{Range: m.options.UIDs, Maps: m.idmaps}); err != nil {
		return err
	}
	return views.Seal(m.Slot)
}

// planViews says what is to lie in the slot. The mounts are in the order of their handles.
func (m *making) planViews() (lay.Views, error) {
	held := m.Pins.Held()
	planned := lay.Views{Mounts: make([]lay.Mount, len(held))}
	for _, v := range local.Views(m.Spec.Mounts) {
		if v.OnTheWay() {
			planned.Frames = append(planned.Frames, v.Number)
		}
		for _, i := range v.Mounts {
			wanted := m.Spec.Mounts[i]
			rel, err := v.Rel(wanted.Target)
			if err != nil {
				return lay.Views{}, err
			}
			planned.Mounts[i] = lay.Mount{
				Source: wanted.Source, Device: held[i].Dev, Inode: held[i].Ino, View: v.Number, Rel: rel, Writable: wanted.Workspace, Programs: wanted.Programs,
			}
		}
	}
	return planned, nil
}

// keepPins holds what was found until the keeper has mounted it: nothing else can get its device and inode meanwhile. Who
// calls it has the lock.
func (m *making) keepPins() {
	if m.plan != nil {
		m.pins[string(m.ID)], m.Pins = m.Pins, local.Pins{}
	}
}

// takePins are those of a sandbox, for one taker.
func (l *Launcher) takePins(id string) local.Pins {
	l.mu.Lock()
	defer l.mu.Unlock()
	pins := l.pins[id]
	delete(l.pins, id)
	return pins
}

func (l *Launcher) dropPins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, pins := range l.pins {
		pins.Close()
	}
	clear(l.pins)
}

// startKeeper starts a keeper apart from our terminal, and where it may mount if we may not.
func (l *Launcher) startKeeper(ctx context.Context, id string) (*keeper.Line, error) {
	box := l.boxes.Keeper(id)
	lock, err := l.imageLock(id)
	if err != nil {
		return nil, err
	}
	var locks []*os.File
	if lock != nil {
		defer lock.Close()
		locks = append(locks, lock)
	}
	if !l.rootless {
		return box.Start(ctx, l.options.KeeperPath, &syscall.SysProcAttr{Setsid: true}, locks...)
	}
	pins := l.takePins(id)
	if len(pins.Held()) == 0 {
		if pins, err = l.pinAgain(box); err != nil {
			return nil, err
		}
	}
	defer pins.Close()
	var handles []*os.File
	for _, pin := range pins.Held() {
		handles = append(handles, pin.File())
	}
	line, err := box.Start(ctx, l.options.KeeperPath, lay.Apart(), append(handles, locks...)...)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("%w: %w", lay.ErrNoNamespace, err)
	}
	return line, err
}

// pinAgain finds what an earlier life of the watcher has found. It need not be the same: the keeper compares.
func (l *Launcher) pinAgain(box keeper.Box) (local.Pins, error) {
	order, err := box.Order()
	if err != nil {
		return local.Pins{}, err
	}
	if order.Plan == nil {
		return local.Pins{}, errors.New("it was made by root, whose mounts it has; have root start it, or remove it")
	}
	var wanted []sandbox.Mount
	for _, m := range order.Plan.Mounts {
		wanted = append(wanted, sandbox.Mount{Source: m.Source, Workspace: m.Writable, Programs: m.Programs})
	}
	return local.Pin(l.options.Bases, wanted, []uint32{uint32(os.Geteuid())})
}
