package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/notice"
)

// MaxLeftovers bounds how many ended sandboxes are removed in the background, after their runs. Beyond that, a run
// keeps its slot until one of them is gone.
const MaxLeftovers = 64

// Removals removes sandboxes, those of runs as well as sandboxes that no run waits for. It knows which sandboxes are
// still being removed, and how many are left.
type Removals struct {
	left      atomic.Int64   // sandboxes that could not be removed
	leftovers atomic.Int64   // ended sandboxes that are being removed after their runs
	releasing atomic.Int64   // resources that are being let go
	removing  sync.Map       // by key: a channel that is closed when a sandbox that belongs to no run is gone
	work      sync.WaitGroup // counts the removals and releases under way

	calls     *calls
	resources []Resource
	launchers map[string]sandbox.Launcher
	notices   *notice.Board
	log       *slog.Logger
	life      context.Context // done when the watcher stops working
	serving   context.Context // done when it begins to stop
}

func newRemovals(p Ports, c *calls) *Removals {
	return &Removals{calls: c, resources: p.Resources, launchers: p.Launchers, notices: p.Notices, log: p.Log, life: p.Life, serving: p.Serving}
}

// Left returns how many sandboxes are left, as far as is known: a call that was left behind may still make one.
func (m *Removals) Left() int { return int(m.left.Load()) + m.calls.launches.Left() }

// CountLeft counts sandboxes that are left to the next watcher.
func (m *Removals) CountLeft(more int) { m.left.Add(int64(more)) }

// remove removes a sandbox, or returns why that cannot be done now.
func (m *Removals) remove(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) error {
	err := m.calls.once(away, func(ctx context.Context) error {
		crash.At("end.removed")
		return m.fromLauncher(ctx, launcher, h)
	})
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return nil
	case sandbox.IsUnavailable(err):
		away.Raise(delegation.NoticeLauncher, err)
	default:
		away.Lower()
	}
	return err
}

// fromLauncher removes a sandbox, and lets go of its resources.
func (m *Removals) fromLauncher(ctx context.Context, launcher sandbox.Launcher, h sandbox.Handle) error {
	err := launcher.Remove(ctx, h)
	if err == nil || errors.Is(err, sandbox.ErrNotFound) {
		m.Release(h.Sandbox)
	}
	return err
}

// hasEnded reports whether a launcher knows that a sandbox has ended. If the launcher does not list the sandbox, that
// proves nothing: its processes may outlive its name.
func (m *Removals) hasEnded(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) (ended bool) {
	err := m.calls.once(away, func(ctx context.Context) error {
		all, err := launcher.List(ctx)
		for _, other := range all {
			ended = ended || other.ID == h.ID && other.State == sandbox.HandleExited
		}
		return err
	})
	return ended && err == nil
}

// inBackground removes an ended sandbox while its run goes on. It returns false if too many others are being removed
// already, see MaxLeftovers. If the watcher stops first, the sandbox is counted as left.
func (m *Removals) inBackground(launcher sandbox.Launcher, h sandbox.Handle) bool {
	if m.leftovers.Add(1) > MaxLeftovers {
		m.leftovers.Add(-1)
		return false
	}
	m.work.Go(func() {
		defer m.leftovers.Add(-1)
		held, away := m.notices.Flag(""), m.notices.Flag("")
		defer held.Close()
		defer away.Close()
		held.Raise(delegation.NoticeLeftovers, nil)
		for try := 1; m.life.Err() == nil; try++ {
			m.calls.pause(m.life, retry.Backoff(try))
			err := m.remove(away, launcher, h)
			if err == nil {
				return
			}
			retry.Warn(m.log, "remove a sandbox that has ended", try, err)
		}
		m.left.Add(1)
		m.log.Error("a sandbox that has ended is left; the next start removes it", "sandbox", h.ID)
	})
	return true
}

// Later removes, in the background, a sandbox that no run waits for. key is the key of the run that it was made for, ""
// if that is not known. The watcher goes on even if the sandbox cannot be removed.
func (m *Removals) Later(key string, h sandbox.Handle) {
	gone := make(chan struct{})
	if key != "" {
		m.removing.Store(key, gone)
	}
	m.work.Go(func() {
		if err := m.insist(h, func() { close(gone) }); err != nil {
			m.left.Add(1)
			m.log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
		}
	})
}

// WhenDead removes a sandbox in the background. As soon as nothing runs in it, WhenDead calls dead in another goroutine.
func (m *Removals) WhenDead(h sandbox.Handle, dead func()) {
	m.left.Add(1)
	m.work.Go(func() {
		err := m.insist(h, func() { m.work.Go(dead) })
		if err != nil {
			m.log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
			return
		}
		m.left.Add(-1)
	})
}

// insist removes a sandbox, again and again until it is gone or the watcher stops working. It calls dead once, as soon
// as nothing runs in the sandbox: what remains of it then is in no run's way.
func (m *Removals) insist(h sandbox.Handle, dead func()) error {
	launcher, isDead := m.launchers[h.Launcher], sync.OnceFunc(dead)
	err := m.calls.insistAlways("remove a sandbox", func(ctx context.Context) error {
		crash.At("recover.removed")
		err := m.fromLauncher(ctx, launcher, h)
		if err != nil && m.hasEnded(nil, launcher, h) {
			isDead()
		}
		return err
	})
	if err == nil {
		isDead()
	}
	return err
}

// Now removes a sandbox before anything new begins: its outbox may be served under another name, and a new request may
// ask for its workspace. It returns why the sandbox cannot be removed at once.
func (m *Removals) Now(h sandbox.Handle) error {
	crash.At("recover.dropped")
	return m.Once(h)
}

// Once removes a sandbox that no run waits for, or returns why that cannot be done now.
func (m *Removals) Once(h sandbox.Handle) error {
	held := m.notices.Flag("")
	defer held.Close()
	err := m.calls.once(held, func(ctx context.Context) error { return m.fromLauncher(ctx, m.launchers[h.Launcher], h) })
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	return err
}

// await waits until no sandbox of the key is being removed: a crash can leave a sandbox that no record names, while its
// request begins anew. It waits no longer than its run goes on.
func (m *Removals) await(ending context.Context, key string) {
	gone, ok := m.removing.Load(key)
	if !ok {
		return
	}
	select {
	case <-gone.(chan struct{}):
	case <-ending.Done():
	case <-m.life.Done():
	}
}

// removeLeft removes a sandbox after a call for it was left behind and has returned at last.
func (m *Removals) removeLeft(launcher sandbox.Launcher, h sandbox.Handle) {
	err := m.calls.insistAlways("remove the sandbox of a call that was left behind", func(ctx context.Context) error {
		crash.At("end.removed")
		return m.fromLauncher(ctx, launcher, h)
	})
	if err != nil {
		m.left.Add(1)
		m.log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
	}
}

// removeCreated removes the sandbox of an abandoned Create. A Create that returned an error may have made a sandbox all
// the same.
func (m *Removals) removeCreated(launcher sandbox.Launcher, id sandbox.SandboxID, h sandbox.Handle, err error) {
	if err != nil {
		h = m.find(launcher, id)
	}
	if h.ID != "" {
		m.removeLeft(launcher, h)
	}
}

// find returns the sandbox that a failed create may have left: the launcher can succeed although the call failed.
func (m *Removals) find(launcher sandbox.Launcher, id sandbox.SandboxID) (found sandbox.Handle) {
	_ = m.calls.insistAlways("look for the sandbox of a failed launch", func(ctx context.Context) error { // it fails only when the watcher stops working
		handles, err := launcher.List(ctx)
		for _, h := range handles {
			if h.Sandbox == id {
				found = h
			}
		}
		return err
	})
	return found
}
