package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
)

// order is one sandbox to be made.
type order struct {
	id    sandbox.SandboxID // or a role
	spec  sandbox.Spec
	bases *mounts.Bases
}

// Create makes the container of a sandbox, or finds the one that is there.
func (l *Launcher) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	if err := local.CheckGuarantees(spec, l.guarantees); err != nil {
		return sandbox.Handle{}, err
	}
	if l.exchanged.Load() {
		if err := l.prove(ctx); err != nil {
			return sandbox.Handle{}, err
		}
	}
	l.undoRest()
	if err := l.checkUndone(id); err != nil {
		return sandbox.Handle{}, err
	}
	if h, err := l.again(ctx, id); !errors.Is(err, sandbox.ErrNotFound) {
		return h, err
	}
	return l.create(ctx, order{id: id, spec: spec, bases: l.options.Bases})
}

// again finds a sandbox of ours, if the engine still has it.
func (l *Launcher) again(ctx context.Context, id sandbox.SandboxID) (sandbox.Handle, error) {
	container := l.containerOf(id)
	if container == "" {
		return sandbox.Handle{}, sandbox.ErrNotFound
	}
	found, err := l.look(ctx, sandbox.Handle{ID: container})
	if err != nil {
		return sandbox.Handle{}, err
	}
	h, err := l.names.handle(container, found.Config.Labels)
	h.Engine = l.identity
	return h, err
}

// making is a sandbox on its way into being. What its steps set up is undone in reverse, unless it succeeds.
type making struct {
	*Launcher
	order  order
	image  knownImage
	slot   *mounts.Slot
	pins   local.Pins
	recipe recipe
	undo   []func() error

	undoing sync.Mutex  // held by who undoes what could not be undone at once
	unsure  atomic.Bool // a container of it may be there

	sockets []runfile.Mount // the profile's, as they were found
}

func (l *Launcher) create(ctx context.Context, o order) (h sandbox.Handle, err error) {
	m := &making{Launcher: l, order: o}
	m.recipe = recipe{
		nonce: rand.Text(), limits: o.spec.Limits, cpus: l.facts.cpus, seccomp: l.seccomp,
		runtime: l.options.Runtime,
	}
	defer func() {
		if err != nil {
			err = errors.Join(away(err), m.rollBack())
			l.keepUndo(m)
		}
	}()
	defer func() { m.pins.Close() }()
	for _, step := range []func(context.Context) error{
		m.checkLimits, m.chooseRoot, m.pinMounts, m.takeSlot, m.identify, m.layMounts, m.addSockets, m.writeFiles, m.checkWays,
	} {
		if err := ctx.Err(); err != nil {
			return sandbox.Handle{}, err
		}
		if err := step(ctx); err != nil {
			return sandbox.Handle{}, err
		}
	}
	return m.make(ctx)
}

func (m *making) checkLimits(context.Context) error { return local.CheckLimits(m.order.spec.Limits) }

func (m *making) pinMounts(context.Context) (err error) {
	m.pins, err = local.Pin(m.order.bases, m.order.spec.Mounts, m.order.spec.Owners)
	return err
}

func (m *making) chooseRoot(ctx context.Context) (err error) {
	root := m.order.spec.RootFS
	if root.Host == (root.Image != "") {
		return errors.New("a sandbox has either the host's programs or an image")
	}
	if root.Host {
		m.recipe.image = m.shared.hostImage
		m.recipe.mounts = append(m.recipe.mounts, m.shared.hostMounts...)
		return nil
	}
	if m.image, err = m.images.find(ctx, root); err != nil {
		return err
	}
	m.recipe.image = m.image.id
	if m.recipe.covers, err = local.Covers(m.image.volumes, m.order.spec); err != nil {
		return fmt.Errorf("image %s: %w", root.Image, err)
	}
	return nil
}

func (m *making) takeSlot(context.Context) (err error) {
	if m.slot, err = local.Acquire(m.slots, m.options.UIDs); err != nil {
		return err
	}
	m.undo = append(m.undo, m.slot.Release)
	profile := m.order.spec.Profile
	m.recipe.labels = m.names.sandboxLabels(m.order.id, profile, m.slot.Number())
	return nil
}

// make asks the engine, and hears of the caller's wish to cancel when it has answered.
func (m *making) make(ctx context.Context) (sandbox.Handle, error) {
	calling, cancel := local.StepContext(ctx)
	defer cancel()
	name := m.names.container(m.order.id)
	config, host := containerConfig(m.recipe)
	made, err := m.engine.create(calling, name, config, host)
	if isGone(err) && m.order.spec.RootFS.Host {
		if _, lost := m.restore(calling); lost == nil {
			made, err = m.engine.create(calling, name, config, host)
		}
	}
	switch {
	case isConflict(err):
		return m.existing(ctx, name)
	case isGone(err):
		m.images.forget(m.order.spec.RootFS.Image)
		fallthrough
	case err != nil:
		m.undoContainer(func() error { return m.removeMine(ctx, name) })
		return sandbox.Handle{}, fmt.Errorf("create container %s: %w", name, err)
	}
	m.undoContainer(func() error { return m.removeMine(ctx, made.ID) })
	if err := m.readWarnings(made.Warnings); err != nil {
		return sandbox.Handle{}, err
	}
	if err := ctx.Err(); err != nil {
		return sandbox.Handle{}, err
	}
	want, err := m.wanted()
	if err != nil {
		return sandbox.Handle{}, err
	}
	m.remember(made.ID, &box{id: m.order.id, slot: m.slot, uid: m.recipe.uid, wanted: want, fresh: true})
	return m.handle(made.ID), nil
}

// existing returns the container that has the name already, if it is this very sandbox's. What was set up for a new one is undone.
func (m *making) existing(ctx context.Context, name string) (sandbox.Handle, error) {
	found, err := m.engine.inspect(ctx, name)
	if isGone(err) {
		return sandbox.Handle{}, fmt.Errorf("%w: it makes a container named %s still, or removes it", sandbox.ErrUnavailable, name)
	}
	if err != nil {
		return sandbox.Handle{}, fmt.Errorf("look at the container that is in the way: %w", err)
	}
	labels := found.Config.Labels
	h, err := m.names.handle(found.ID, labels)
	h.Engine = m.identity
	if err != nil || h.Sandbox != m.order.id {
		return sandbox.Handle{}, fmt.Errorf("a container named %s is in the way and is not this sandbox's; remove it", name)
	}
	if m.known(found.ID) == nil { // it came when nobody waited for it any more, and its slot may be another's by now
		late := fmt.Errorf("%w: it was late with container %s", sandbox.ErrUnavailable, name)
		return sandbox.Handle{}, errors.Join(late, m.removeContainer(ctx, found.ID))
	}
	return h, m.rollBack()
}

// removeMine removes a container if this very call has made it, which the nonce tells.
func (m *making) removeMine(ctx context.Context, id string) error {
	cleanup, cancel := local.CleanupContext(ctx)
	defer cancel()
	found, err := m.engine.inspect(cleanup, id)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found.Config.Cmd) != 1 || found.Config.Cmd[0] != m.recipe.nonce {
		return nil
	}
	return m.removeContainer(cleanup, found.ID)
}

// limitWords are how an engine's warning shows which limit it is about. One about swap speaks of memory too, so the
// first that fits counts.
var limitWords = []struct {
	word string
	key  sandbox.GuaranteeKey
}{
	{"swap", sandbox.SwapLimit}, {"pids", sandbox.PidsLimit}, {"cpu", sandbox.CPULimit}, {"memory", sandbox.MemoryLimit},
}

// warnedOf is the limit that a warning is about, or "".
func warnedOf(warning string) sandbox.GuaranteeKey {
	lower := strings.ToLower(warning)
	for _, limit := range limitWords {
		if strings.Contains(lower, limit.word) {
			return limit.key
		}
	}
	return ""
}

// readWarnings refuses a container that got less than was asked for (I3). Warnings are text and nothing else; one that
// speaks of a limit is taken for its loss, unless the loss is known and the profile did not mind.
func (m *making) readWarnings(warnings []string) error {
	for _, warning := range warnings {
		if key := warnedOf(warning); m.facts.limits[key] {
			return &delegation.Refusal{
				Code: delegation.CodeNotEnforced, Field: "profile",
				Text: fmt.Sprintf("The engine does not enforce the limit for %s: %s", key, warning),
				Hint: "this is for the operator to mend",
			}
		}
		m.options.Log.Info("the engine warned about a sandbox", "sandbox", m.order.id, "warning", warning)
	}
	return nil
}
