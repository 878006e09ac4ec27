package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"torno/internal/images"
	"torno/internal/mounts"
	"torno/internal/runsc"
	"torno/internal/seccomp"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/groups"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// Launcher launches sandboxes with gVisor. It is safe for concurrent use.
type Launcher struct {
	options  Options
	rootless bool // the watcher is an ordinary user's
	boxes    *boxes.Boxes
	images   *images.Cache
	slots    *mounts.Slots
	idmaps   *mounts.IDMaps
	groups   groups.Groups
	filter   []byte // the filter of system calls, for init
	shared   shared

	guarantees sandbox.Guarantees
	unattested string // why the host cannot look into sandboxes
	unbound    error  // why a sandbox's kernel cannot bind a mount at a prefix later; nil if it can
	turns      turns  // for sandboxes that start
	busy       *busy
	attached   local.Attached

	mu    sync.Mutex
	held  map[string]holding      // by sandbox id
	seen  map[string]bool         // digests of the images that were used before
	lines map[string]*keeper.Line // lines from the start of sandboxes that were not opened yet
	pins  map[string]local.Pins   // for sandboxes whose keeper has to mount
	ahead map[string]*ahead       // sandboxes that were made ahead of a run
}

var _ sandbox.Launcher = (*Launcher)(nil)

// holding is a sandbox's share of the things that exist only once.
type holding struct {
	slot  *mounts.Slot
	image *images.Image // nil with the host's programs
}

// release gives the share back. It can be repeated until it succeeds.
func (h holding) release() error {
	if err := h.slot.Free(); err != nil {
		return err
	}
	if h.image == nil {
		return nil
	}
	return h.image.Close()
}

// shared holds the files that all sandboxes share.
type shared struct {
	system  hostroot.System
	nothing string // an empty file of our own
	init    string // the directory of sandbox-init
}

// names returns the names of the shared directories that a sandbox uses.
func (s shared) names(host bool) []string {
	if !host {
		return []string{filepath.Base(s.init)}
	}
	return []string{filepath.Base(s.init), filepath.Base(s.system.Etc)}
}

// New prepares the files that sandboxes share, and takes over the sandboxes from before a restart. It removes
// everything that was left unfinished. Then it tries with a throw-away sandbox whether everything works here. Close
// ends the Launcher; sandboxes live on.
func New(ctx context.Context, options Options) (_ *Launcher, err error) {
	options, err = options.checked()
	if err != nil {
		return nil, fmt.Errorf("gvisor launcher: %w", err)
	}
	l := newLauncher(options)
	l.guarantees = guaranteesOf(l.groups)
	if l.rootless {
		ordinary(l.guarantees)
	}
	for _, step := range []func(context.Context) error{l.findRuntime, l.prepare, l.openImages, l.openSlots, l.sweep, l.sweepShared, l.try} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	if l.unattested != "" {
		l.guarantees[sandbox.Attested] = sandbox.Guarantee{By: l.unattested}
	}
	return l, nil
}

// newLauncher returns a Launcher that has made nothing on the machine yet.
func newLauncher(options Options) *Launcher {
	return &Launcher{
		options: options, rootless: os.Geteuid() != 0, boxes: boxes.In(filepath.Join(options.StateDir, Name), Name), idmaps: mounts.NewIDMaps(),
		groups: groups.Find(options.Installation), busy: newBusy(),
		turns: make(turns, startsEach*runtime.NumCPU()),
		held:  map[string]holding{}, seen: map[string]bool{}, lines: map[string]*keeper.Line{}, pins: map[string]local.Pins{}, ahead: map[string]*ahead{},
	}
}

// dir returns the launcher's own directory.
func (l *Launcher) dir() string { return filepath.Join(l.options.StateDir, Name) }

func (l *Launcher) slotsDir() string { return filepath.Join(l.dir(), "slots") }

// runsc returns the program for the sandboxes of this launcher.
func (l *Launcher) runsc() command.Runsc {
	return command.Runsc{Program: l.options.Runsc, Home: l.dir()}
}

// findRuntime finds runsc and checks its version.
func (l *Launcher) findRuntime(ctx context.Context) error {
	program, err := runsc.Find(l.options.Runsc)
	if err != nil {
		return err
	}
	version, err := program.Version(ctx)
	if err != nil {
		return err
	}
	if warning := version.Warning(); warning != "" {
		l.options.Log.Warn("this version of gVisor was not tested", "warning", warning)
	}
	l.options.Runsc = program.Path
	return mayUnshare()
}

// prepare makes the files that all sandboxes share.
func (l *Launcher) prepare(context.Context) (err error) {
	if err := l.boxes.Make(); err != nil {
		return err
	}
	if err := mayExecute(l.dir()); err != nil {
		return err
	}
	if err := local.Withhold(l.options.Bases, l.options.StateDir, local.EngineSockets(l.options.Engines...)); err != nil {
		return err
	}
	if l.filter, err = (seccomp.Filter{Arch: runtime.GOARCH}).Program(); err != nil {
		return err
	}
	l.shared = shared{nothing: filepath.Join(l.dir(), "nothing")}
	if err := os.WriteFile(l.shared.nothing, nil, 0o600); err != nil {
		return fmt.Errorf("make the launcher's files: %w", err)
	}
	if l.shared.system, err = hostroot.Prepare(l.dir()); err != nil {
		return err
	}
	l.shared.init, err = local.StoreInit(l.options.InitPath, l.dir())
	return err
}

func (l *Launcher) openSlots(context.Context) (err error) {
	l.slots, err = mounts.OpenSlots(l.slotsDir(), l.options.UIDs.Count, !l.rootless)
	return err
}

// Site returns the id of the launcher's directory.
func (l *Launcher) Site(context.Context) (string, error) {
	if err := l.boxes.Prove(); err != nil {
		return "", err
	}
	return l.boxes.Site(), nil
}

// Check returns the enforced guarantees. It fails if the runtime is gone.
func (l *Launcher) Check(context.Context) (sandbox.Guarantees, error) {
	if _, err := os.Stat(l.options.Runsc); err != nil {
		return nil, fmt.Errorf("look for gVisor: %w", err)
	}
	return maps.Clone(l.guarantees), nil
}

// Close ends all attachments and releases the slots and images. Running sandboxes go on, and their keepers hold their
// images.
func (l *Launcher) Close() error {
	l.mu.Lock()
	lines := slices.Collect(maps.Values(l.lines))
	l.lines = map[string]*keeper.Line{}
	l.mu.Unlock()
	l.dropPins()
	l.attached.Close()
	for _, line := range lines {
		line.Close()
	}
	errs := []error{l.idmaps.Close(), l.dropNamespace(), l.groups.DropEmpty(), l.dropImages()}
	if l.slots != nil {
		errs = append(errs, l.slots.Close())
	}
	return errors.Join(errs...)
}

// dropNamespace removes the network namespace that runsc has mounted for all sandboxes, unless sandboxes are left.
func (l *Launcher) dropNamespace() error {
	ids, err := l.boxes.All()
	if len(ids) > 0 || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, l.runsc().DropNamespace())
}

// busy holds the ids of sandboxes that are being made, started or removed.
type busy struct {
	mu    sync.Mutex
	ids   map[string]bool
	freed chan struct{} // closed when one of them is done, and then replaced
}

func newBusy() *busy { return &busy{ids: map[string]bool{}, freed: make(chan struct{})} }

// lock keeps other callers from making, starting or removing the same sandbox until unlock.
func (b *busy) lock(ctx context.Context, id string) (unlock func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.ids[id] {
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	b.ids[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ids, id)
		close(b.freed)
		b.freed = make(chan struct{})
	}, nil
}
