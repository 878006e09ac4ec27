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
	rootless bool // an ordinary user's
	boxes    *boxes.Boxes
	images   *images.Cache
	slots    *mounts.Slots
	idmaps   *mounts.IDMaps
	groups   groups.Groups
	filter   []byte // of system calls, for init
	shared   shared

	guarantees sandbox.Guarantees
	unattested string // why the host cannot look into sandboxes
	unbound    error  // why a sandbox's kernel cannot show later what arrives at a prefix itself
	turns      turns  // of sandboxes that start
	busy       *busy
	attached   local.Attached

	mu    sync.Mutex
	held  map[string]holding      // by id
	seen  map[string]bool         // images that were there when they were asked for last
	lines map[string]*keeper.Line // of sandboxes that are not open yet
	pins  map[string]local.Pins   // of sandboxes whose keeper will mount
	ahead map[string]*ahead       // of sandboxes that were made ahead of a run
}

var _ sandbox.Launcher = (*Launcher)(nil)

// holding is what a sandbox has of what there is only once.
type holding struct {
	slot  *mounts.Slot
	image *images.Image // nil with the host's programs
}

// release gives it back. It can be repeated until it succeeds.
func (h holding) release() error {
	if err := h.slot.Free(); err != nil {
		return err
	}
	if h.image == nil {
		return nil
	}
	return h.image.Close()
}

// shared is what all sandboxes share.
type shared struct {
	system  hostroot.System
	nothing string // a file of our own without a byte
	init    string // the directory of sandbox-init
}

// names are the directories that a sandbox has in it, by their names.
func (s shared) names(host bool) []string {
	if !host {
		return []string{filepath.Base(s.init)}
	}
	return []string{filepath.Base(s.init), filepath.Base(s.system.Etc)}
}

// New prepares what sandboxes share, takes up what an earlier life has left, removes what that left unfinished, and tries
// with a throw-away sandbox that all of it works here. Close ends the Launcher; sandboxes live on.
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

// newLauncher has nothing on the machine yet.
func newLauncher(options Options) *Launcher {
	return &Launcher{
		options: options, rootless: os.Geteuid() != 0, boxes: boxes.In(filepath.Join(options.StateDir, Name), Name), idmaps: mounts.NewIDMaps(),
		groups: groups.Find(options.Installation), busy: newBusy(),
		turns: make(turns, startsEach*runtime.NumCPU()),
		held:  map[string]holding{}, seen: map[string]bool{}, lines: map[string]*keeper.Line{}, pins: map[string]local.Pins{}, ahead: map[string]*ahead{},
	}
}

// dir is where the launcher keeps its own.
func (l *Launcher) dir() string { return filepath.Join(l.options.StateDir, Name) }

func (l *Launcher) slotsDir() string { return filepath.Join(l.dir(), "slots") }

// runsc is the program, for the sandboxes of this launcher.
func (l *Launcher) runsc() command.Runsc {
	return command.Runsc{Program: l.options.Runsc, Home: l.dir()}
}

// findRuntime finds runsc and looks at its version.
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
		l.options.Log.Warn("use another gVisor than the one that is tested", "warning", warning)
	}
	l.options.Runsc = program.Path
	return mayUnshare()
}

// prepare makes what all sandboxes share.
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

// Site is the id of the launcher's directory.
func (l *Launcher) Site(context.Context) (string, error) {
	if err := l.boxes.Prove(); err != nil {
		return "", err
	}
	return l.boxes.Site(), nil
}

// Check says what is enforced, and that the runtime is there.
func (l *Launcher) Check(context.Context) (sandbox.Guarantees, error) {
	if _, err := os.Stat(l.options.Runsc); err != nil {
		return nil, fmt.Errorf("look for gVisor: %w", err)
	}
	return maps.Clone(l.guarantees), nil
}

// Close ends all attachments and lets go of the slots and images. Sandboxes that run go on, and their keepers hold their images.
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

// dropNamespace takes away what runsc has mounted for all sandboxes. It stays as long as there are any.
func (l *Launcher) dropNamespace() error {
	ids, err := l.boxes.All()
	if len(ids) > 0 || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, l.runsc().DropNamespace())
}

// busy are the ids of sandboxes that are being made, started or removed.
type busy struct {
	mu    sync.Mutex
	ids   map[string]bool
	freed chan struct{} // closed when one of them is done, and replaced
}

func newBusy() *busy { return &busy{ids: map[string]bool{}, freed: make(chan struct{})} }

// lock keeps others from making, starting or removing the same sandbox meanwhile.
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
