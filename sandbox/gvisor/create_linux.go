package gvisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"torno/internal/images"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/bundle"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
	"torno/sandbox/local/lay"
)

// Create makes the box of a sandbox, or finds the box that exists already.
func (l *Launcher) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	if err := local.CheckGuarantees(spec, l.guarantees); err != nil {
		return sandbox.Handle{}, err
	}
	unlock, err := l.busy.lock(ctx, string(id))
	if err != nil {
		return sandbox.Handle{}, err
	}
	defer unlock()
	if r, err := l.boxes.Read(string(id)); !errors.Is(err, sandbox.ErrNotFound) {
		return l.boxes.Handle(r), err
	}
	return l.create(ctx, local.Order{ID: id, Spec: spec, Bases: l.options.Bases})
}

// making is a box that is being made.
type making struct {
	*Launcher
	local.Making
	tree   bundle.Tree
	plan   *lay.Plan // nil if the launcher mounts by itself
	who    mounts.Identity
	recipe bundle.Recipe
	record boxes.Record
	image  *images.Image // nil with the host's programs
	doors  []keeper.Door // doors to the profile's sockets
	ahead  bool          // made ahead of a run that is not known yet
}

func (l *Launcher) create(ctx context.Context, o local.Order) (h sandbox.Handle, err error) {
	m := &making{Launcher: l, Making: local.Making{Order: o}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.RollBack())
		}
	}()
	defer func() { m.Pins.Close() }()
	err = local.RunSteps(ctx, m.CheckSpec, m.PinMounts, m.takeSlot, m.layMounts, m.addSockets, m.layRoot, m.writeFiles, m.finish)
	if err != nil {
		return sandbox.Handle{}, err
	}
	return m.boxes.Handle(m.record), nil
}

func (m *making) takeSlot(context.Context) error {
	if err := m.TakeSlot(m.slots, m.options.UIDs); err != nil {
		return err
	}
	if err := m.identify(); err != nil {
		return err
	}
	m.recipe = bundle.Recipe{Nonce: rand.Text(), UID: m.who.UID, GID: m.who.GID, Limits: m.Spec.Limits, Ordinary: m.plan != nil}
	return nil
}

// layMounts moves the mounts into the slot. It gives the runtime only the paths of the slot's views: nobody but the
// host could exchange a component of such a path. The kernel copies everything inside a view with it, by handle: which
// mounts are nested, and which are read-only.
func (m *making) layMounts(context.Context) error {
	if err := m.layViews(); err != nil {
		return err
	}
	for _, v := range local.Views(m.Spec.Mounts) {
		source, err := v.Source(m.Slot)
		if err != nil {
			return err
		}
		shown := bundle.Bind{Source: source, Target: v.Prefix, Dir: true, Deep: true}
		for _, i := range v.Mounts {
			shown.Writable = shown.Writable || m.Spec.Mounts[i].Workspace
			if m.Spec.Mounts[i].Target == v.Prefix {
				shown.Dir = m.Pins.Held()[i].Dir
			}
		}
		m.recipe.Mounts = append(m.recipe.Mounts, shown)
	}
	m.hideFuse()
	return nil
}

// hideFuse covers gVisor's own device /dev/fuse, which no user of the sandbox needs.
func (m *making) hideFuse() {
	m.recipe.Mounts = append(m.recipe.Mounts, bundle.Bind{Source: m.shared.nothing, Target: "/dev/fuse"})
}

// addSockets opens a door to each socket of the profile. The sandbox itself opens no socket of the host's, because it
// could not be limited to certain ones. Its keeper connects, and init passes the connection on.
func (m *making) addSockets(context.Context) error {
	for _, socket := range m.Spec.Sockets {
		door, err := m.doorTo(socket)
		if err != nil {
			return err
		}
		m.doors = append(m.doors, door)
		m.recipe.Doors = append(m.recipe.Doors, socket.Target)
	}
	return nil
}

// doorTo returns a door to a socket as the launcher finds it now.
func (m *making) doorTo(socket sandbox.Socket) (keeper.Door, error) {
	found, err := local.CheckSocket(socket, local.EngineSockets(m.options.Engines...))
	if err != nil {
		return keeper.Door{}, err
	}
	door := keeper.Door{Path: found.Source, Device: found.Mount.Device, Inode: found.Mount.Inode, UID: m.who.UID, GID: m.who.GID}
	if socket.Lasting {
		door.Name = path.Base(socket.Host)
	}
	return door, nil
}

// writeFiles fills the run directory, and shows it to the sandbox together with init.
func (m *making) writeFiles(context.Context) error {
	if err := m.showFiles(); err != nil {
		return err
	}
	return m.run().Write(m.Slot.RunDir())
}

func (m *making) showFiles() error {
	return errors.Join(m.tree.Show(m.Slot.RunDir(), bundle.InRoot(runfile.Dir)), m.tree.Show(m.shared.init, bundle.InRoot(path.Dir(runfile.Init))))
}

// run returns the contents of the run directory.
func (m *making) run() local.Run {
	run := local.Run{
		Nonce: m.recipe.Nonce, Who: m.who, Spec: m.Spec, Mounts: local.Unnumbered(m.Pins.Expected(false)), Filter: m.filter,
	}
	for _, socket := range m.Spec.Sockets {
		run.Doors = append(run.Doors, runfile.Door{Path: socket.Target})
	}
	return run
}

// finish writes the box and makes it visible by one rename.
func (m *making) finish(context.Context) (err error) {
	m.record.Sandbox, m.record.Slot, m.record.Profile = m.ID, m.Slot.Number(), m.Spec.Profile
	m.record.Made, m.record.Stdin = time.Now(), m.Spec.Process.Stdin
	m.record.Device, m.record.Inode = m.Pins.Workspace()
	m.record.Limits, m.record.Shared = m.Spec.Limits, m.shared.names(m.Spec.RootFS.Host)
	wanted, err := m.wanted()
	if err != nil {
		return fmt.Errorf("look at the mounts of the sandbox: %w", err)
	}
	m.record.Wanted = wanted
	id := string(m.ID)
	if err := m.boxes.Put(m.record, m.recipe.Config(), m.keeperOrder(m.boxes.Path(id))); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[id] = holding{m.Slot, m.image}
	m.keepPins()
	return nil
}

// wanted returns the mounts that the gofer should see.
func (m *making) wanted() ([]attest.Want, error) {
	all := []attest.Want{{Target: "/"}, {Target: "/dev/fuse"}, {Target: path.Dir(runfile.Init)}}
	run, err := attest.WantOf(m.Slot.RunDir(), runfile.Dir)
	if err != nil {
		return nil, err
	}
	all = append(all, run)
	if m.Spec.RootFS.Host {
		binds, err := hostroot.Around(m.shared.system.Binds(), local.Prefixes(m.Spec.Mounts))
		if err != nil {
			return nil, err
		}
		for _, b := range binds {
			want, err := attest.WantOf(b.Source, b.Target)
			if err != nil {
				return nil, err
			}
			all = append(all, want)
		}
	}
	all = append(all, local.Wants(m.Pins.Expected(true))...)
	for _, view := range m.recipe.Mounts {
		if view.Deep && !slices.ContainsFunc(all, func(w attest.Want) bool { return w.Target == view.Target }) {
			all = append(all, attest.Want{Target: view.Target})
		}
	}
	return all, nil
}

// keeperOrder returns the keeper's order: what to start, and for how long.
func (m *making) keeperOrder(box string) keeper.Order {
	return keeper.Order{
		Argv: m.runsc().Run(m.ID, box, len(m.doors)), Doors: m.doors,
		Trouble: command.Trouble(), Log: m.Spec.Limits.Log, Word: runfile.Release, Stdin: m.Spec.Process.Stdin,
		Allowed: m.Spec.Longest(), Grace: runfile.Grace + keeperGrace,
		Plan: m.plan, Ahead: m.ahead, Group: m.groups.Plan(string(m.ID), m.Spec.Limits),
	}
}

// keeperGrace is how much later than init the keeper ends a sandbox whose time is over. Init goes first because its own
// end says more.
const keeperGrace = 15 * time.Second
