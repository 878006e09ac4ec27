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

// A watcher that runs as an ordinary user can neither make mounts that other processes see, nor give its sandboxes
// other users. So the mounts that root's launcher makes by itself go into a plan, and the keeper makes them in
// namespaces of the sandbox. The sandbox runs as the watcher's user, the only user there.

// identify decides which user the sandbox runs as, and which process mounts for it.
func (m *making) identify() (err error) {
	m.tree, m.who = m.Slot, m.options.UIDs.Of(m.Slot)
	if m.rootless {
		m.plan = &lay.Plan{Slots: m.slotsDir(), Slot: m.Slot.Number(), Covers: mounts.Covers{Dir: m.shared.system.Empty, File: m.shared.nothing}}
		m.tree = m.plan
		m.who, err = ourselves(m.Pins)
	}
	return err
}

// ourselves returns the watcher's user. The workspace has to belong to this user: in any other workspace the sandbox
// could not write.
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

// planViews plans the views of the slot. The mounts are in the order of their handles.
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

// keepPins keeps the pins open until the keeper has mounted them: until then no other file can get their device and
// inode. The caller holds the lock.
func (m *making) keepPins() {
	if m.plan != nil {
		m.pins[string(m.ID)], m.Pins = m.Pins, local.Pins{}
	}
}

// takePins returns the pins of a sandbox and forgets them, so that only one caller gets them.
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

// startKeeper starts a keeper outside our terminal session. If we may not mount, it starts the keeper in a namespace
// where the keeper may.
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

// pinAgain finds the mounts of the plan again after a restart of the watcher. They need not be the same files: the
// keeper compares them.
func (l *Launcher) pinAgain(box keeper.Box) (local.Pins, error) {
	order, err := box.Order()
	if err != nil {
		return local.Pins{}, err
	}
	if order.Plan == nil {
		return local.Pins{}, errors.New("root made it, and it has root's mounts; start it as root, or remove it")
	}
	var wanted []sandbox.Mount
	for _, m := range order.Plan.Mounts {
		wanted = append(wanted, sandbox.Mount{Source: m.Source, Workspace: m.Writable, Programs: m.Programs})
	}
	return local.Pin(l.options.Bases, wanted, []uint32{uint32(os.Geteuid())})
}
