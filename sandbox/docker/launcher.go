package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker/box"
	"torno/sandbox/docker/create"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/survey"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// Launcher launches sandboxes with Docker. It is safe for concurrent use.
type Launcher struct {
	options  Options
	engine   *engine.Client
	identity *engine.Identity
	facts    survey.Facts
	names    names.Naming
	images   *image.Images
	idmaps   *mounts.IDMaps
	shared   create.Shared
	init     *attest.Program
	filter   create.Filter
	failed   *create.FailedLaunches

	// The trial finds these out.
	slots      *mounts.Slots
	byHandle   bool
	guarantees sandbox.Guarantees
	unattested string // why the host cannot look into sandboxes; "" if it can
	shut       bool   // the engine's kernel keeps a sandbox away from the sockets of others

	restoring sync.Mutex

	reach *box.Reach
	end   context.CancelFunc // Close calls it to cut off every start

	mu       sync.Mutex
	boxes    map[string]*box.Box  // by container id
	prepared map[string]*prepared // by container id; only those made ahead of a run
}

var _ sandbox.Launcher = (*Launcher)(nil)

// New connects to the engine, gives it the parts that all sandboxes share, adopts the sandboxes that an earlier life
// left running, and removes the leftovers of its unfinished work. With a throw-away sandbox it tries how workspaces can
// be mounted here. Close ends the Launcher; sandboxes live on.
func New(ctx context.Context, options Options) (_ *Launcher, err error) {
	options, err = options.checked()
	if err != nil {
		return nil, fmt.Errorf("docker launcher: %w", err)
	}
	e, err := engine.Connect(ctx, options.Host, options.Observe)
	if err != nil {
		return nil, err
	}
	l := newLauncher(options, e)
	for _, step := range []func(context.Context) error{l.learn, l.sweep, l.prepare, l.settle} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// newLauncher returns a launcher that has put nothing on the engine or on the machine yet.
func newLauncher(options Options, e *engine.Client) *Launcher {
	l := &Launcher{
		options: options, engine: e, identity: engine.NewIdentity(e, options.Log), failed: create.NewFailedLaunches(options.Log), names: names.Naming{Installation: options.Installation, State: options.StateDir},
		idmaps: mounts.NewIDMaps(), boxes: map[string]*box.Box{}, prepared: map[string]*prepared{},
	}
	l.images = image.NewImages(l.stock())
	life, end := context.WithCancel(context.Background())
	l.end = end
	l.reach = &box.Reach{
		Engine: e, Identity: l.identity, Names: l.names, Log: options.Log, UIDs: options.UIDs, Life: life, Restore: l.restore,
	}
	return l
}

// learn asks the engine about itself.
func (l *Launcher) learn(ctx context.Context) error {
	info, err := l.engine.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask the engine about itself: %w", err)
	}
	if l.facts, err = survey.FactsOf(info, l.options.Runtime); err != nil {
		return err
	}
	if err := l.identity.Learn(ctx, info); err != nil {
		return err
	}
	if l.filter, err = create.FilterFor(l.facts.Arch); err != nil {
		return err
	}
	return local.Withhold(l.options.Bases, l.options.StateDir, l.engineSockets())
}

// engineSockets returns the socket that we use ourselves, the sockets named in the configuration, and the usual ones.
func (l *Launcher) engineSockets() []string {
	named := slices.Clone(l.options.Engines)
	if own, ok := strings.CutPrefix(l.engine.Host(), "unix://"); ok {
		named = append(named, own)
	}
	return local.EngineSockets(named...)
}

// sweep removes our containers that are not sandboxes of runs. None of them is in use when a launcher starts.
func (l *Launcher) sweep(ctx context.Context) error {
	for _, role := range []sandbox.SandboxID{names.RoleInit, names.RoleLook, names.RoleTrial} {
		if err := l.stock().RemoveHelper(ctx, role); err != nil {
			return fmt.Errorf("remove the remains of an earlier start: %w", err)
		}
	}
	return nil
}

// prepare makes the parts that all sandboxes share.
func (l *Launcher) prepare(ctx context.Context) error {
	dir := l.dir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the launcher's directory: %w", err)
	}
	system, err := hostroot.Prepare(dir)
	if err != nil {
		return err
	}
	empty, err := l.stock().EmptyImage(ctx, system.Layout)
	if err != nil {
		return err
	}
	init, err := l.stock().StoreInit(ctx, empty, l.options.InitPath)
	if err != nil {
		return err
	}
	l.init = attest.KnownProgram(init.Program)
	l.shared = create.Shared{HostImage: empty, InitVolume: init.Volume}
	l.identity.SeeLandmark(ctx, init.Volume)
	if l.shared.Etc, err = l.options.EnginePath(system.Etc); err != nil {
		return err
	}
	root := attest.RootBehind(ctx, l.engine.Socket())
	for _, bind := range system.Binds() {
		source := bind.Source
		if source != system.Etc && source != system.Empty { // those two are our own, at our own paths
			source = filepath.Join(root, source)
		}
		want, err := attest.WantOf(source, bind.Target)
		if err != nil {
			return fmt.Errorf("look at the host's programs: %w", err)
		}
		l.shared.HostWants = append(l.shared.HostWants, want)
	}
	covered, err := l.options.EnginePath(system.Empty)
	if err != nil {
		return err
	}
	l.shared.HostBinds = system.Layout.Binds(l.shared.Etc, covered)
	return l.removeOutdated(ctx, filepath.Base(system.Etc))
}

// stock returns the images and volumes that this installation keeps on the engine.
func (l *Launcher) stock() image.Stock { return image.Stock{Engine: l.engine, Names: l.names} }

// dir returns the launcher's own directory.
func (l *Launcher) dir() string { return filepath.Join(l.options.StateDir, "docker") }

func (l *Launcher) slotsDir() string { return filepath.Join(l.dir(), "slots") }

// Check tells which guarantees hold, and checks that the engine can be reached.
func (l *Launcher) Check(ctx context.Context) (sandbox.Guarantees, error) {
	if err := l.engine.Negotiate(ctx); err != nil {
		return nil, err
	}
	return maps.Clone(l.guarantees), nil
}

// Site returns the identity of the engine that the launcher was opened on, as long as that engine answers.
func (l *Launcher) Site(ctx context.Context) (string, error) {
	if err := l.identity.Prove(ctx); err != nil {
		return "", err
	}
	return l.identity.Name(), nil
}

// Close ends all attachments and lets go of the engine and of the slots. Running sandboxes go on. If the engine does
// not answer a start, Close cuts the start off, because it would keep its box locked. Then init's input closes, so init
// ends.
func (l *Launcher) Close() error {
	l.end()
	l.mu.Lock()
	boxes := slices.Collect(maps.Values(l.boxes))
	l.mu.Unlock()
	l.reach.Close()
	for _, b := range boxes {
		b.HangUp()
	}
	errs := []error{l.idmaps.Close(), l.engine.Close()}
	if l.slots != nil {
		errs = append(errs, l.slots.Close())
	}
	return errors.Join(errs...)
}

// HasImage reports whether the engine has an image, so that the operator learns of a missing image before a request
// fails.
func (l *Launcher) HasImage(ctx context.Context, ref string) (bool, error) {
	return l.images.Has(ctx, ref)
}

// known returns this process's box of a container, or nil.
func (l *Launcher) known(id string) *box.Box {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boxes[id]
}

// containerOf returns the container id of a sandbox, or "".
func (l *Launcher) containerOf(id sandbox.SandboxID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for container, b := range l.boxes {
		if b.ID == id {
			return container
		}
	}
	return ""
}

func (l *Launcher) remember(id string, b *box.Box) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boxes[id] = b
}

func (l *Launcher) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.boxes, id)
	delete(l.prepared, id)
}
