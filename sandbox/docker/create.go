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
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
)

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
	if err := l.demandName(ctx); err != nil {
		return sandbox.Handle{}, err
	}
	return l.create(ctx, local.Order{ID: id, Spec: spec, Bases: l.options.Bases})
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
	h.Site = l.identity()
	return h, err
}

// making is a sandbox on its way into being.
type making struct {
	*Launcher
	local.Making
	image  knownImage
	recipe recipe
	token  string // with which init says its end

	undoing sync.Mutex  // held by who undoes what could not be undone at once
	unsure  atomic.Bool // a container of it may be there

	sockets []runfile.Mount // the profile's, as they were found
}

func (l *Launcher) create(ctx context.Context, o local.Order) (h sandbox.Handle, err error) {
	m := &making{Launcher: l, Making: local.Making{Order: o}}
	m.recipe = recipe{
		nonce: rand.Text(), limits: o.Spec.Limits, cpus: l.facts.cpus, seccomp: l.seccomp,
		runtime: l.options.Runtime,
	}
	defer func() {
		if err != nil {
			left := m.RollBack()
			if left != nil {
				l.keepUndo(m)
			}
			err = errors.Join(away(err), left)
		}
	}()
	defer func() { m.Pins.Close() }()
	err = local.Take(ctx, m.CheckSpec, m.chooseRoot, m.PinMounts, m.takeSlot, m.identify, m.layMounts, m.addSockets, m.writeFiles, m.checkWays)
	if err != nil {
		return sandbox.Handle{}, err
	}
	return m.make(ctx)
}

func (m *making) chooseRoot(ctx context.Context) (err error) {
	root := m.Spec.RootFS
	if root.Host {
		m.recipe.image = m.shared.hostImage
		m.recipe.mounts = append(m.recipe.mounts, m.shared.hostMounts...)
		return nil
	}
	if m.image, err = m.images.find(ctx, root); err != nil {
		return err
	}
	m.recipe.image = m.image.id
	if m.recipe.covers, err = local.Covers(m.image.volumes, m.Spec); err != nil {
		return fmt.Errorf("image %s: %w", root.Image, err)
	}
	return nil
}

func (m *making) takeSlot(context.Context) error {
	if err := m.TakeSlot(m.slots, m.options.UIDs); err != nil {
		return err
	}
	m.recipe.labels = m.names.sandboxLabels(m.ID, m.Spec.Profile, m.Slot.Number())
	m.token = rand.Text()
	m.recipe.labels[labelEnd] = runfile.DigestOf(m.token)
	return nil
}

// make asks the engine, and hears of the caller's wish to cancel when it has answered.
func (m *making) make(ctx context.Context) (sandbox.Handle, error) {
	calling, cancel := local.StepContext(ctx)
	defer cancel()
	name := m.names.container(m.ID)
	config, host := containerConfig(m.recipe)
	made, err := m.engine.create(calling, name, config, host)
	if isGone(err) && m.Spec.RootFS.Host {
		if _, lost := m.restore(calling); lost == nil {
			made, err = m.engine.create(calling, name, config, host)
		}
	}
	switch {
	case isConflict(err):
		return m.existing(ctx, name)
	case err != nil:
		m.undoContainer(func() error { return m.removeMine(ctx, name) })
		return sandbox.Handle{}, fmt.Errorf("create container %s: %w", name, m.whyGone(calling, err))
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
	m.remember(made.ID, &box{id: m.ID, slot: m.Slot, uid: m.recipe.uid, wanted: want, token: m.token, fresh: true})
	return m.handle(made.ID), nil
}

// whyGone is why an engine lacks what a container is made of: it may be another engine.
func (m *making) whyGone(ctx context.Context, err error) error {
	if !isGone(err) {
		return err
	}
	if other := m.prove(ctx); errors.Is(other, sandbox.ErrOtherSite) {
		return other
	}
	m.images.forget(m.Spec.RootFS.Image)
	return err
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
	h.Site = m.identity()
	if err != nil || h.Sandbox != m.ID {
		return sandbox.Handle{}, fmt.Errorf("a container named %s is in the way and is not this sandbox's; remove it", name)
	}
	if m.known(found.ID) == nil { // it came when nobody waited for it any more, and its slot may be another's by now
		late := fmt.Errorf("%w: it was late with container %s", sandbox.ErrUnavailable, name)
		return sandbox.Handle{}, errors.Join(late, m.engine.removeContainer(ctx, found.ID))
	}
	return h, m.RollBack()
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
	return m.engine.removeContainer(cleanup, found.ID)
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
		m.options.Log.Info("the engine warned about a sandbox", "sandbox", m.ID, "warning", warning)
	}
	return nil
}
