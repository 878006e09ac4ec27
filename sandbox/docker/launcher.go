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
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/mount"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
	"torno/sandbox/docker/recipe"
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
	shared   shared
	init     *attest.Program
	seccomp  string // the outline of the filter, for the engine
	program  []byte // the filter, for init

	// What the trial found out.
	slots      *mounts.Slots
	byHandle   bool
	guarantees sandbox.Guarantees
	unattested string // why the host cannot look into sandboxes

	restoring sync.Mutex
	attached  local.Attached

	life context.Context // until Close, which cuts every start off
	end  context.CancelFunc

	mu     sync.Mutex
	boxes  map[string]*box // by container id
	undone []*making       // launches that failed and could not be undone
}

var _ sandbox.Launcher = (*Launcher)(nil)

// shared is what all sandboxes share; the paths are the engine's.
type shared struct {
	hostImage  string
	hostMounts []mount.Mount
	hostWants  []attest.Want // the same, for the look from outside
	initVolume string
	etc        string
}

// box is what this process knows of a sandbox.
type box struct {
	id   sandbox.SandboxID
	slot *mounts.Slot // nil where this process did not claim it
	uid  uint32       // whom it runs as; 0 where nothing says so
	// wanted is what the finished sandbox should be; nil for one of an earlier life.
	wanted *processes.Wanted

	token string // with which init says its end; "" for one of an earlier life

	exit    atomic.Pointer[sandbox.Exit] // how it ended, as it was seen first
	asked   atomic.Bool                  // by us to end, with whichever signal
	killed  atomic.Bool                  // by us
	doubted atomic.Bool                  // the engine may believe that it never ran, and be wrong

	mu      sync.Mutex
	fresh   bool                    // made by us and never started
	spoiled bool                    // init's input was attached to, and let go of, before it began
	live    *types.HijackedResponse // the output from its first byte, until somebody opens it
	input   *types.HijackedResponse // init's standard input, and from the release on the agent's, until it is closed
	held    bool                    // init was started and not released
	started time.Time               // when the engine said that it was
	death   *attest.Death           // init's, once it was attested
}

// startContext is ctx, and ends with the launcher, too.
func (l *Launcher) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// New connects to the engine, gives it what sandboxes share, claims what an earlier life left running, removes what it
// left unfinished, and tries with a throw-away sandbox how workspaces can be mounted here. Close ends the Launcher;
// sandboxes live on.
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

// newLauncher has nothing on the engine or on the machine yet.
func newLauncher(options Options, e *engine.Client) *Launcher {
	l := &Launcher{
		options: options, engine: e, identity: engine.NewIdentity(e, options.Log), names: names.Naming{Installation: options.Installation, State: options.StateDir},
		idmaps: mounts.NewIDMaps(), boxes: map[string]*box{},
	}
	l.images = image.NewImages(l.stock())
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// learn asks the engine what it is.
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
	if err := l.prepareFilter(); err != nil {
		return err
	}
	return local.Keep(l.options.Bases, l.options.StateDir, l.engineSockets())
}

// engineSockets are the one that we use ourselves, those of the configuration, and the usual ones.
func (l *Launcher) engineSockets() []string {
	named := slices.Clone(l.options.Engines)
	if own, ok := strings.CutPrefix(l.engine.Host(), "unix://"); ok {
		named = append(named, own)
	}
	return local.EngineSockets(named...)
}

// sweep removes the containers that are no sandboxes of runs. None of them is in use when a launcher starts.
func (l *Launcher) sweep(ctx context.Context) error {
	for _, role := range []sandbox.SandboxID{names.RoleInit, names.RoleLook, names.RoleTrial} {
		if err := l.stock().RemoveHelper(ctx, role); err != nil {
			return fmt.Errorf("remove what an earlier start left: %w", err)
		}
	}
	return nil
}

// prepare makes what all sandboxes share.
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
	l.shared = shared{hostImage: empty, initVolume: init.Volume}
	l.identity.SeeLandmark(ctx, init.Volume)
	if l.shared.etc, err = l.options.EnginePath(system.Etc); err != nil {
		return err
	}
	root := attest.RootBehind(ctx, l.engine.Socket())
	for _, bind := range system.Binds() {
		source := bind.Source
		if source != system.Etc && source != system.Empty { // those two are ours, and lie at our own paths
			source = filepath.Join(root, source)
		}
		want, err := attest.WantOf(source, bind.Target)
		if err != nil {
			return fmt.Errorf("look at the host's programs: %w", err)
		}
		l.shared.hostWants = append(l.shared.hostWants, want)
	}
	covered, err := l.options.EnginePath(system.Empty)
	if err != nil {
		return err
	}
	l.shared.hostMounts = recipe.ReadOnlyBinds(system.Layout.Binds(l.shared.etc, covered))
	return l.removeOutdated(ctx, filepath.Base(system.Etc))
}

// stock is what this installation keeps on the engine.
func (l *Launcher) stock() image.Stock { return image.Stock{Engine: l.engine, Names: l.names} }

// dir is where the launcher keeps its own.
func (l *Launcher) dir() string { return filepath.Join(l.options.StateDir, "docker") }

func (l *Launcher) slotsDir() string { return filepath.Join(l.dir(), "slots") }

// Check says what is enforced, and that the engine can be reached.
func (l *Launcher) Check(ctx context.Context) (sandbox.Guarantees, error) {
	if err := l.engine.Negotiate(ctx); err != nil {
		return nil, err
	}
	return maps.Clone(l.guarantees), nil
}

// Site is the identity of the engine that the launcher was opened on, while that engine answers.
func (l *Launcher) Site(ctx context.Context) (string, error) {
	if err := l.identity.Prove(ctx); err != nil {
		return "", err
	}
	return l.identity.Name(), nil
}

// Close ends all attachments and lets go of the engine and of the slots. Sandboxes that run go on. A start that the engine does not
// answer is cut off: it holds its box's lock, and its init ends with its hold.
func (l *Launcher) Close() error {
	l.end()
	l.mu.Lock()
	boxes := slices.Collect(maps.Values(l.boxes))
	l.mu.Unlock()
	l.attached.Close()
	for _, b := range boxes {
		b.hangUp()
	}
	errs := []error{l.idmaps.Close(), l.engine.Close()}
	if l.slots != nil {
		errs = append(errs, l.slots.Close())
	}
	return errors.Join(errs...)
}

// known is what we know of a container, or nil.
func (l *Launcher) known(id string) *box {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boxes[id]
}

// containerOf is the container of a sandbox, or "".
func (l *Launcher) containerOf(id sandbox.SandboxID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for container, b := range l.boxes {
		if b.id == id {
			return container
		}
	}
	return ""
}

func (l *Launcher) remember(id string, b *box) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boxes[id] = b
}

func (l *Launcher) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.boxes, id)
}

// hangUp ends the streams that are nobody else's.
func (b *box) hangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropStreams()
	b.watchEnd(nil)
}

// dropStreams is hangUp for who has the lock.
func (b *box) dropStreams() {
	for _, stream := range []*types.HijackedResponse{b.live, b.input} {
		if stream != nil {
			stream.Close()
		}
	}
	b.live, b.input, b.held = nil, nil, false
}
