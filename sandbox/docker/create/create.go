package create

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync/atomic"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
	"torno/sandbox/docker/recipe"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// Ground holds everything that is the same for all sandboxes of an installation when they are created.
type Ground struct {
	Engine   *engine.Client
	Identity *engine.Identity
	Names    names.Naming
	Images   *image.Images
	Shared   Shared
	Filter   Filter
	Failed   *FailedLaunches
	Log      *slog.Logger

	Runtime  string                        // "" means the engine's default
	CPUs     int64                         // of the engine's machine, in thousandths
	Enforced map[sandbox.GuaranteeKey]bool // the limits that the engine and its kernel have

	Shut       bool // the engine's kernel keeps a sandbox away from the sockets of others
	ByHandle   bool // workspaces are moved into slots; otherwise the engine gets their paths
	Slots      *mounts.Slots
	IDMaps     *mounts.IDMaps
	UIDs       local.UIDRange
	EnginePath func(here string) (engine string, err error)
	Sockets    []string // of engines; no sandbox gets them

	// Restore brings back the parts that all sandboxes share, if somebody has removed them from the engine.
	Restore func(context.Context) error
	// Known reports whether the launcher has this container as a sandbox of its own.
	Known func(container string) bool
}

// Shared holds the parts that all sandboxes share; the paths are the engine's.
type Shared struct {
	HostImage  string
	HostBinds  []hostroot.Bind
	HostWants  []attest.Want // the same, for the look from outside
	InitVolume string
	Etc        string
}

// Created is a sandbox that has a container.
type Created struct {
	Handle sandbox.Handle
	New    bool // this call made it; otherwise only Handle is set

	Slot   *mounts.Slot
	UID    uint32
	Wanted *processes.Wanted
	Token  string // init marks its end with it
	Nonce  string // of its run file
}

// making is a sandbox while it is being made.
type making struct {
	*Ground
	local.Making
	image  image.Image
	recipe recipe.Recipe
	token  string // init marks its end with it

	unsure atomic.Bool // its container may exist

	sockets  []runfile.Mount // the profile's sockets, as they were found
	carriers []string        // targets of our directories that carry programs
}

// Create makes the container of a sandbox. If that fails, it undoes its steps, or leaves that to FailedLaunches.
func (g *Ground) Create(ctx context.Context, o local.Order) (created Created, err error) {
	m := g.begin(o)
	defer func() { err = m.undoIf(err) }()
	defer func() { m.Pins.Close() }()
	err = local.RunSteps(ctx, m.CheckSpec, m.chooseRoot, m.PinMounts, m.takeSlot, m.identify, m.layMounts, m.addSockets, m.writeFiles, m.checkWays)
	if err != nil {
		return Created{}, err
	}
	return m.createContainer(ctx)
}

// begin prepares the values for a new sandbox. It makes nothing yet.
func (g *Ground) begin(o local.Order) *making {
	m := &making{Ground: g, Making: local.Making{Order: o}}
	m.recipe = recipe.Recipe{Nonce: rand.Text(), Limits: o.Spec.Limits, CPUs: g.CPUs, Seccomp: g.Filter.Outline, Runtime: g.Runtime, Lasting: o.Spec.Process.Lasting}
	return m
}

// undoIf undoes the steps so far if there is an error.
func (m *making) undoIf(err error) error {
	if err == nil {
		return nil
	}
	left := m.RollBack()
	if left != nil {
		m.Failed.Add(m.ID, m.unsure.Load, m.RollBack)
	}
	return errors.Join(engine.Away(err), left)
}

func (m *making) chooseRoot(ctx context.Context) (err error) {
	root := m.Spec.RootFS
	if root.Host {
		m.recipe.Image = m.Shared.HostImage
		binds, err := hostroot.Around(m.Shared.HostBinds, local.Prefixes(m.Spec.Mounts))
		m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBinds(binds)...)
		return err
	}
	if m.image, err = m.Images.Find(ctx, root); err != nil {
		return err
	}
	m.recipe.Image = m.image.ID
	if m.recipe.Covers, err = local.Covers(m.image.Volumes, m.Spec); err != nil {
		return fmt.Errorf("image %s: %w", root.Image, err)
	}
	return nil
}

func (m *making) takeSlot(context.Context) error {
	if err := m.TakeSlot(m.Slots, m.UIDs); err != nil {
		return err
	}
	m.recipe.Labels = m.Names.SandboxLabels(m.ID, m.Spec.Profile, m.Slot.Number())
	m.token = rand.Text()
	m.recipe.Labels[names.LabelEnd] = runfile.DigestOf(m.token)
	return nil
}

// checkWays refuses an image if a link in it would lead one of our mounts to another place.
func (m *making) checkWays(ctx context.Context) error {
	if m.Spec.RootFS.Host {
		return nil // the image is our own
	}
	return m.Images.CheckWays(ctx, m.Spec.RootFS.Image, m.image, m.targets())
}

// targets returns the places where we mount something.
func (m *making) targets() []string {
	all := []string{"/proc", "/sys", "/dev/shm", "/tmp", sandbox.Home, runfile.Dir, image.InitDir}
	for _, mounted := range m.recipe.Mounts {
		all = append(all, path.Clean(mounted.Target))
	}
	return append(all, m.recipe.Covers...)
}

// createContainer asks the engine to make the container. It waits for the engine's answer even if the caller cancels,
// and only then gives up.
func (m *making) createContainer(ctx context.Context) (Created, error) {
	calling, cancel := local.StepContext(ctx)
	defer cancel()
	name := m.Names.Container(m.ID)
	config, host := m.recipe.Container()
	made, err := m.Engine.Create(calling, name, config, host)
	if engine.IsGone(err) && m.Spec.RootFS.Host {
		if lost := m.Restore(calling); lost == nil {
			made, err = m.Engine.Create(calling, name, config, host)
		}
	}
	switch {
	case engine.IsConflict(err):
		h, err := m.existing(ctx, name)
		return Created{Handle: h}, err
	case err != nil:
		m.undoContainer(func() error { return m.removeMine(ctx, name) })
		return Created{}, fmt.Errorf("create container %s: %w", name, m.whyGone(calling, err))
	}
	m.undoContainer(func() error { return m.removeMine(ctx, made.ID) })
	if err := m.readWarnings(made.Warnings); err != nil {
		return Created{}, err
	}
	if err := ctx.Err(); err != nil {
		return Created{}, err
	}
	want, err := m.wanted()
	if err != nil {
		return Created{}, err
	}
	return Created{Handle: m.handle(made.ID), New: true, Slot: m.Slot, UID: m.recipe.UID, Wanted: want, Token: m.token, Nonce: m.recipe.Nonce}, nil
}

// whyGone returns the reason why an engine lacks a part of the container. Perhaps another engine answers now.
func (m *making) whyGone(ctx context.Context, err error) error {
	if !engine.IsGone(err) {
		return err
	}
	if other := m.Identity.Prove(ctx); errors.Is(other, sandbox.ErrOtherSite) {
		return other
	}
	m.Images.Forget(m.Spec.RootFS.Image)
	return err
}

// existing returns the container that already has the name, if it belongs to this very sandbox. It undoes the new one's
// preparations.
func (m *making) existing(ctx context.Context, name string) (sandbox.Handle, error) {
	found, err := m.Engine.Inspect(ctx, name)
	if engine.IsGone(err) {
		return sandbox.Handle{}, fmt.Errorf("%w: it still makes or removes a container named %s", sandbox.ErrUnavailable, name)
	}
	if err != nil {
		return sandbox.Handle{}, fmt.Errorf("look at the container that is in the way: %w", err)
	}
	labels := found.Config.Labels
	h, err := m.Names.Handle(found.ID, labels)
	h.Site = m.Identity.Name()
	if err != nil || h.Sandbox != m.ID {
		return sandbox.Handle{}, fmt.Errorf("a container named %s is in the way and does not belong to this sandbox; remove it", name)
	}
	if !m.Known(found.ID) { // it came after its run had stopped waiting, and its slot may belong to another sandbox by now
		late := fmt.Errorf("%w: it was late with container %s", sandbox.ErrUnavailable, name)
		return sandbox.Handle{}, errors.Join(late, m.Engine.EnsureRemoved(ctx, found.ID))
	}
	return h, m.RollBack()
}

// removeMine removes a container only if this very call made it, which the nonce proves.
func (m *making) removeMine(ctx context.Context, id string) error {
	cleanup, cancel := local.CleanupContext(ctx)
	defer cancel()
	found, err := m.Engine.Inspect(cleanup, id)
	if engine.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found.Config.Cmd) != 1 || found.Config.Cmd[0] != m.recipe.Nonce {
		return nil
	}
	return m.Engine.EnsureRemoved(cleanup, found.ID)
}

// handle returns the handle of the new sandbox, with its workspace's directory.
func (m *making) handle(id string) sandbox.Handle {
	h := sandbox.Handle{Launcher: names.Launcher, ID: id, Site: m.Identity.Name(), Sandbox: m.ID, Slot: m.Slot.Number()}
	h.Device, h.Inode = m.Pins.Workspace()
	return h
}
