package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/recipe"
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
	if l.identity.WasExchanged() {
		if err := l.identity.Prove(ctx); err != nil {
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
	if err := l.identity.Demand(ctx); err != nil {
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
	h, err := l.names.Handle(container, found.Config.Labels)
	h.Site = l.identity.Name()
	return h, err
}

// making is a sandbox on its way into being.
type making struct {
	*Launcher
	local.Making
	image  image.Image
	recipe recipe.Recipe
	token  string // with which init says its end

	undoing sync.Mutex  // held by who undoes what could not be undone at once
	unsure  atomic.Bool // a container of it may be there

	sockets []runfile.Mount // the profile's, as they were found
}

func (l *Launcher) create(ctx context.Context, o local.Order) (h sandbox.Handle, err error) {
	m := &making{Launcher: l, Making: local.Making{Order: o}}
	m.recipe = recipe.Recipe{
		Nonce: rand.Text(), Limits: o.Spec.Limits, CPUs: l.facts.CPUs, Seccomp: l.seccomp,
		Runtime: l.options.Runtime,
	}
	defer func() {
		if err != nil {
			left := m.RollBack()
			if left != nil {
				l.keepUndo(m)
			}
			err = errors.Join(engine.Away(err), left)
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
		m.recipe.Image = m.shared.hostImage
		m.recipe.Mounts = append(m.recipe.Mounts, m.shared.hostMounts...)
		return nil
	}
	if m.image, err = m.images.Find(ctx, root); err != nil {
		return err
	}
	m.recipe.Image = m.image.ID
	if m.recipe.Covers, err = local.Covers(m.image.Volumes, m.Spec); err != nil {
		return fmt.Errorf("image %s: %w", root.Image, err)
	}
	return nil
}

func (m *making) takeSlot(context.Context) error {
	if err := m.TakeSlot(m.slots, m.options.UIDs); err != nil {
		return err
	}
	m.recipe.Labels = m.names.SandboxLabels(m.ID, m.Spec.Profile, m.Slot.Number())
	m.token = rand.Text()
	m.recipe.Labels[names.LabelEnd] = runfile.DigestOf(m.token)
	return nil
}

// checkWays refuses an image in which something of ours would be mounted where a link leads.
func (m *making) checkWays(ctx context.Context) error {
	if m.Spec.RootFS.Host {
		return nil // the image is our own
	}
	return m.images.CheckWays(ctx, m.Spec.RootFS.Image, m.image, m.targets())
}

// targets are where something of ours is mounted.
func (m *making) targets() []string {
	all := []string{"/proc", "/sys", "/dev/shm", "/tmp", sandbox.Home, runfile.Dir, image.InitDir}
	for _, mounted := range m.recipe.Mounts {
		all = append(all, path.Clean(mounted.Target))
	}
	return append(all, m.recipe.Covers...)
}

// make asks the engine, and hears of the caller's wish to cancel when it has answered.
func (m *making) make(ctx context.Context) (sandbox.Handle, error) {
	calling, cancel := local.StepContext(ctx)
	defer cancel()
	name := m.names.Container(m.ID)
	config, host := m.recipe.Container()
	made, err := m.engine.Create(calling, name, config, host)
	if engine.IsGone(err) && m.Spec.RootFS.Host {
		if _, lost := m.restore(calling); lost == nil {
			made, err = m.engine.Create(calling, name, config, host)
		}
	}
	switch {
	case engine.IsConflict(err):
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
	m.remember(made.ID, &box{id: m.ID, slot: m.Slot, uid: m.recipe.UID, wanted: want, token: m.token, fresh: true})
	return m.handle(made.ID), nil
}

// whyGone is why an engine lacks what a container is made of: it may be another engine.
func (m *making) whyGone(ctx context.Context, err error) error {
	if !engine.IsGone(err) {
		return err
	}
	if other := m.identity.Prove(ctx); errors.Is(other, sandbox.ErrOtherSite) {
		return other
	}
	m.images.Forget(m.Spec.RootFS.Image)
	return err
}

// existing returns the container that has the name already, if it is this very sandbox's. What was set up for a new one is undone.
func (m *making) existing(ctx context.Context, name string) (sandbox.Handle, error) {
	found, err := m.engine.Inspect(ctx, name)
	if engine.IsGone(err) {
		return sandbox.Handle{}, fmt.Errorf("%w: it makes a container named %s still, or removes it", sandbox.ErrUnavailable, name)
	}
	if err != nil {
		return sandbox.Handle{}, fmt.Errorf("look at the container that is in the way: %w", err)
	}
	labels := found.Config.Labels
	h, err := m.names.Handle(found.ID, labels)
	h.Site = m.identity.Name()
	if err != nil || h.Sandbox != m.ID {
		return sandbox.Handle{}, fmt.Errorf("a container named %s is in the way and is not this sandbox's; remove it", name)
	}
	if m.known(found.ID) == nil { // it came when nobody waited for it any more, and its slot may be another's by now
		late := fmt.Errorf("%w: it was late with container %s", sandbox.ErrUnavailable, name)
		return sandbox.Handle{}, errors.Join(late, m.engine.EnsureRemoved(ctx, found.ID))
	}
	return h, m.RollBack()
}

// removeMine removes a container if this very call has made it, which the nonce tells.
func (m *making) removeMine(ctx context.Context, id string) error {
	cleanup, cancel := local.CleanupContext(ctx)
	defer cancel()
	found, err := m.engine.Inspect(cleanup, id)
	if engine.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found.Config.Cmd) != 1 || found.Config.Cmd[0] != m.recipe.Nonce {
		return nil
	}
	return m.engine.EnsureRemoved(cleanup, found.ID)
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
		if key := warnedOf(warning); m.facts.Limits[key] {
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
