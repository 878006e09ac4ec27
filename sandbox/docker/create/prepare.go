package create

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// Prepared is a sandbox that was made ahead of a run, as Furnish needs it.
type Prepared struct {
	Slot   *mounts.Slot
	who    mounts.Identity
	nonce  string
	wanted *processes.Wanted // state of the empty sandbox
	places []sandbox.Socket  // where sockets arrive
}

// ErrByPath means that sandboxes cannot be made ahead, because the engine is given paths.
var ErrByPath = errors.New("workspaces are mounted by path here, so nothing can be mounted into an existing sandbox")

// Prepare makes the container of a sandbox of a shape. At its prefixes are the host's own directories, empty and
// read-only; Furnish moves mounts into them. Its run directory holds only the files that do not depend on the run: its
// user and its system call filter.
func (g *Ground) Prepare(ctx context.Context, id sandbox.SandboxID, shape sandbox.Shape) (created Created, p *Prepared, err error) {
	if !g.ByHandle {
		return Created{}, nil, ErrByPath
	}
	m := g.begin(local.Order{ID: id, Spec: shape.Spec()})
	defer func() { err = m.undoIf(err) }()
	err = local.RunSteps(ctx, m.CheckSpec, m.chooseRoot, m.takeSlot, m.identify, m.bindPlaces, m.writeUser)
	if err != nil {
		return Created{}, nil, err
	}
	if created, err = m.createContainer(ctx); err != nil {
		return Created{}, nil, err
	}
	if !created.New {
		return Created{}, nil, fmt.Errorf("sandbox %s exists already", id)
	}
	if err = m.expectPlaces(created.Wanted); err != nil {
		return Created{}, nil, err
	}
	return created, &Prepared{Slot: m.Slot, who: m.who(), nonce: m.recipe.Nonce, wanted: created.Wanted, places: m.Spec.Sockets}, nil
}

// bindPlaces has the engine bind the slot's views before anything lies in them.
func (m *making) bindPlaces(context.Context) error {
	for _, view := range local.Views(m.Spec.Mounts) {
		file, err := local.ArrivesFile(view, m.Spec.Mounts)
		if err != nil {
			return err
		}
		if err := m.bindPlace(view, file); err != nil {
			return err
		}
	}
	for i, view := range local.SocketViews(m.Spec) {
		if err := m.bindPlace(view, !m.Spec.Sockets[i].Lasting); err != nil {
			return err
		}
	}
	return nil
}

// bindPlace has a view bound. If something will arrive at the view's prefix itself, an empty file or directory of ours
// lies there until then.
func (m *making) bindPlace(view local.View, file bool) error {
	source, err := view.Source(m.Slot)
	switch {
	case err != nil:
		return err
	case view.OnTheWay():
	case file:
		err = hostroot.WriteFile(source, nil)
	default:
		err = hostroot.MakeDir(source)
	}
	if err != nil {
		return err
	}
	bound, err := m.bindView(view, true)
	if err != nil {
		return err
	}
	m.recipe.Mounts = append(m.recipe.Mounts, bound)
	return nil
}

func (m *making) writeUser(context.Context) error {
	if err := local.WriteBase(m.Slot.RunDir(), m.who(), m.Filter.Program); err != nil {
		return err
	}
	m.recipe.Labels[names.LabelPrepared] = "pool"
	return m.bindFiles(m.Slot.RunDir())
}

// expectPlaces adds the places where something arrives to the expected state of an empty sandbox.
func (m *making) expectPlaces(w *processes.Wanted) error {
	for _, view := range slices.Concat(local.Views(m.Spec.Mounts), local.SocketViews(m.Spec)) {
		if view.OnTheWay() {
			continue
		}
		source, err := view.Source(m.Slot)
		if err != nil {
			return err
		}
		want, err := attest.WantOf(source, view.Prefix)
		if err != nil {
			return err
		}
		w.Mounts = append(w.Mounts, want)
		w.Floors = append(w.Floors, view.Prefix)
	}
	return nil
}

// Furnished holds the parts of a sandbox that came with its run.
type Furnished struct {
	Wanted        *processes.Wanted
	Device, Inode uint64 // of its workspace
}

// Furnish brings a run into a sandbox whose init holds: its mounts, by handle, and its files. floors lists the mounts
// of the empty sandbox that the run's mounts may cover. Furnish asks the engine nothing. After an error the sandbox
// cannot be used any more.
func (g *Ground) Furnish(ctx context.Context, p *Prepared, floors map[string]uint64, o local.Order) (Furnished, error) {
	m := local.Making{Order: o, Slot: p.Slot}
	defer func() { m.Pins.Close() }()
	if err := local.RunSteps(ctx, m.CheckSpec, m.PinMounts); err != nil {
		return Furnished{}, err
	}
	if err := m.Pins.Lay(p.Slot, g.ids()); err != nil {
		return Furnished{}, err
	}
	sockets, err := g.laySockets(p, o.Spec)
	if err != nil {
		return Furnished{}, err
	}
	expected := append(m.Pins.Expected(true), sockets...)
	run := local.Run{Nonce: p.nonce, Who: p.who, Spec: o.Spec, Mounts: expected, Shut: g.Shut}
	if err := run.WriteRun(p.Slot.RunDir()); err != nil {
		return Furnished{}, err
	}
	f := Furnished{Wanted: p.wanted.With(local.Wants(expected), floors)}
	f.Device, f.Inode = m.Pins.Workspace()
	return f, ctx.Err()
}

// laySockets looks the run's sockets up now, moves them into the slot, and returns the mounts that init must find.
func (g *Ground) laySockets(p *Prepared, spec sandbox.Spec) (expected []runfile.Mount, err error) {
	sameTarget := func(a, b sandbox.Socket) bool { return a.Target == b.Target && a.Lasting == b.Lasting }
	if !slices.EqualFunc(p.places, spec.Sockets, sameTarget) {
		return nil, fmt.Errorf("the sandbox has places for other sockets: %d, and the run has %d", len(p.places), len(spec.Sockets))
	}
	for i, view := range local.SocketViews(spec) {
		found, err := local.CheckSocket(spec.Sockets[i], g.Sockets)
		if err != nil {
			return nil, err
		}
		laid, err := found.Lay(p.Slot, view)
		if err != nil {
			return nil, err
		}
		expected = append(expected, laid)
	}
	return expected, nil
}
