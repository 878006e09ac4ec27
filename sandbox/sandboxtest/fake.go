package sandboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"torno/delegation"
	"torno/sandbox"
)

// LauncherName is the launcher that a fake's handles name.
const LauncherName = "fake"

// ErrCrashed is a fake's answer to every call after Crash.
var ErrCrashed = errors.New("the fake has crashed")

// Fake is a sandbox.Launcher of one installation in a World.
type Fake struct {
	world        *World
	installation string
	site         string // the site that it was opened on
	crashed      chan struct{}

	mu       sync.Mutex
	dead     bool
	attached map[*attachment]bool
}

var _ sandbox.Launcher = (*Fake)(nil)

// Crash works like the watcher's `kill -9`. Every call of this fake fails with ErrCrashed, whether it is under way or
// still to come. The fake's attachments break off, and its sandboxes live on. World.Launcher makes the next fake of the
// installation.
func (f *Fake) Crash() {
	f.mu.Lock()
	if !f.dead {
		f.dead = true
		close(f.crashed)
	}
	f.mu.Unlock()
	f.hangUp()
}

// Check returns the guarantees as Enforce has set them. At first everything is enforced.
func (f *Fake) Check(ctx context.Context) (g sandbox.Guarantees, err error) {
	err = f.do(ctx, OpCheck, func() error { g = f.world.check(); return nil })
	return g, err
}

// Create makes a sandbox. Nothing runs in it yet.
func (f *Fake) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (h sandbox.Handle, err error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	err = f.do(ctx, OpCreate, func() error {
		if err := f.admit(spec); err != nil {
			return err
		}
		own, err := clone(spec)
		if err != nil {
			return err
		}
		h = f.world.add(newBox(f.world, f.installation, id, own)).handle()
		return nil
	})
	return h, err
}

// Start lets the sandbox's init begin, once.
func (f *Fake) Start(ctx context.Context, h sandbox.Handle) error {
	return f.do(ctx, OpStart, func() error {
		b, err := f.find(h)
		if err == nil {
			b.start()
		}
		return err
	})
}

// Open attaches to a sandbox that was started.
func (f *Fake) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (opened sandbox.Attachment, err error) {
	err = f.do(ctx, OpOpen, func() error {
		b, err := f.find(h)
		if err != nil {
			return err
		}
		if b.handle().State == sandbox.HandleCreated {
			return fmt.Errorf("the sandbox %s was not started", h.ID)
		}
		a, err := f.attach(b, cursor)
		if err == nil {
			opened = a
		}
		return err
	})
	return opened, err
}

// Attest confirms that the sandbox is as it should be, if the World lets the host look. A test makes the sandbox differ
// by failing OpAttest with a *sandbox.DifferenceError.
func (f *Fake) Attest(ctx context.Context, h sandbox.Handle) (seen sandbox.Attestation, err error) {
	err = f.do(ctx, OpAttest, func() error {
		b, err := f.find(h)
		if err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.held {
			return fmt.Errorf("attest %s: %w", h.ID, sandbox.ErrNotHeld)
		}
		if g := f.world.check()[sandbox.Attested]; !g.Enforced {
			seen.Why = g.By
			return nil
		}
		seen = sandbox.Attestation{Attested: true, Seen: []sandbox.Observation{{What: "sandbox", Value: b.id}}}
		return nil
	})
	return seen, err
}

// List returns the installation's sandboxes, whichever fake made them, the oldest first.
func (f *Fake) List(ctx context.Context) (all []sandbox.Handle, err error) {
	err = f.do(ctx, OpList, func() error {
		for _, b := range f.world.of(f.installation) {
			all = append(all, b.handle())
		}
		return nil
	})
	return all, err
}

// Remove ends and forgets a sandbox. It also succeeds if the sandbox does not exist.
func (f *Fake) Remove(ctx context.Context, h sandbox.Handle) error {
	return f.do(ctx, OpRemove, func() error {
		b, err := f.find(h)
		if errors.Is(err, sandbox.ErrNotFound) {
			return nil
		}
		if err == nil {
			b.end()
			f.world.forget(b)
		}
		return err
	})
}

// do runs one call with its hooks and faults, as long as this fake lives and the caller waits.
func (f *Fake) do(ctx context.Context, op Op, effect func() error) error {
	alive := func() error {
		select {
		case <-f.crashed:
			return ErrCrashed
		default:
			return ctx.Err()
		}
	}
	err := f.world.step(op, alive, func() error {
		if err := f.ours(); err != nil {
			return err
		}
		return effect()
	})
	if errors.Is(alive(), ErrCrashed) {
		return ErrCrashed
	}
	if other := f.ours(); other != nil {
		return other
	}
	return err
}

// find returns the installation's sandbox that a handle means.
func (f *Fake) find(h sandbox.Handle) (*box, error) {
	if err := h.On(f.site); err != nil {
		return nil, err
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	if b := f.world.boxes[h.ID]; b != nil && b.installation == f.installation && b.site == f.site {
		return b, nil
	}
	return nil, fmt.Errorf("%s: %w", h.ID, sandbox.ErrNotFound)
}

// admit refuses a spec that a real launcher would refuse.
func (f *Fake) admit(spec sandbox.Spec) error {
	if missing := f.world.check().Missing(spec.AtLeast); len(missing) > 0 {
		return &delegation.Refusal{Code: delegation.CodeNotEnforced, Field: "profile", Text: fmt.Sprintf("not enforced here: %v", missing)}
	}
	for _, m := range spec.Mounts {
		if err := f.pin(m); err != nil {
			return err
		}
	}
	return nil
}

// pin checks a mount's source component by component, as a real launcher opens it.
func (f *Fake) pin(m sandbox.Mount) error {
	code, field := delegation.CodeContext, "context_paths"
	if m.Workspace {
		code, field = delegation.CodeWorkspace, "workspace"
	}
	host := f.world.host(sandbox.Source{Base: m.Source.Base, Rel: "."})
	info, err := os.Stat(host)
	for _, part := range strings.Split(filepath.Clean(m.Source.Rel), "/") {
		if err == nil {
			host = filepath.Join(host, part)
			info, err = os.Lstat(host)
		}
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return &delegation.Refusal{Code: code, Field: field, Text: m.Target + " is missing or leads through a link"}
		}
	}
	if m.Workspace && !info.IsDir() {
		return &delegation.Refusal{Code: code, Field: field, Text: m.Target + " is not a directory"}
	}
	return nil
}

// clone copies a spec, so that the world does not depend on its caller. It also shows that a spec is plain data.
func clone(spec sandbox.Spec) (own sandbox.Spec, err error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return own, fmt.Errorf("a spec must be plain data: %w", err)
	}
	return own, json.Unmarshal(data, &own)
}

// of returns the boxes of an installation, oldest first.
func (w *World) of(installation string) []*box {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*box
	for _, b := range w.boxes {
		if b.installation == installation && b.site == w.site {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *box) int { return a.number - b.number })
	return all
}

func (w *World) forget(b *box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.boxes, b.id)
}
