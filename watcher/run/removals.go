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

// MaxLeftovers bounds how many sandboxes that have ended are removed after their runs. With more of them a run keeps its place
// until one is gone.
const MaxLeftovers = 64

// Removals removes sandboxes, those of runs and those that no run waits for. It owns what is known of sandboxes that cannot be
// removed: which are still being removed, and how many are left.
type Removals struct {
	left      atomic.Int64   // sandboxes that could not be removed
	leftovers atomic.Int64   // sandboxes that have ended and are removed after their runs
	releasing atomic.Int64   // resources that are let go of
	removing  sync.Map       // by key: a channel that is closed when a sandbox that belongs to no run is gone
	work      sync.WaitGroup // one for each sandbox that no run waits for

	calls     *calls
	resources []Resource
	launchers map[string]sandbox.Launcher
	notices   *notice.Board
	log       *slog.Logger
	life      context.Context // done when the watcher stops working
	leisure   context.Context // done when it begins to stop
}

func newRemovals(p Ports, c *calls) *Removals {
	return &Removals{calls: c, resources: p.Resources, launchers: p.Launchers, notices: p.Notices, log: p.Log, life: p.Life, leisure: p.Leisure}
}

// Left is how many sandboxes are left, as far as is known: a call that was left behind may make one.
func (m *Removals) Left() int { return int(m.left.Load()) + m.calls.launches.Left() }

// CountLeft counts sandboxes that are left to the next watcher.
func (m *Removals) CountLeft(more int) { m.left.Add(int64(more)) }

// remove removes a sandbox, or says why that cannot be done now.
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

// fromLauncher removes a sandbox, and lets go of what it had.
func (m *Removals) fromLauncher(ctx context.Context, launcher sandbox.Launcher, h sandbox.Handle) error {
	err := launcher.Remove(ctx, h)
	if err == nil || errors.Is(err, sandbox.ErrNotFound) {
		m.Release(h.Sandbox)
	}
	return err
}

// hasEnded says whether a launcher knows that a sandbox has ended. That a launcher does not list it proves nothing: its processes may
// outlive its name.
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

// inBackground removes a sandbox that has ended, while the watcher goes on. It is false where as many others are being removed as may
// be. A watcher that stops counts those that are left.
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

// Later removes a sandbox that no run waits for; key is of the run that it was made for, "" where that is not known. A sandbox that
// cannot be removed does not keep the watcher from its work.
func (m *Removals) Later(key string, h sandbox.Handle) {
	launcher, gone := m.launchers[h.Launcher], make(chan struct{})
	if key != "" {
		m.removing.Store(key, gone)
	}
	free := sync.OnceFunc(func() { close(gone) })
	m.work.Go(func() {
		defer free()
		err := m.calls.insistAlways("remove a sandbox", func(ctx context.Context) error {
			crash.At("recover.removed")
			err := m.fromLauncher(ctx, launcher, h)
			if err != nil && m.hasEnded(nil, launcher, h) {
				free() // what is left of it is in no run's way
			}
			return err
		})
		if err != nil {
			m.left.Add(1)
			m.log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
		}
	})
}

// Now removes a sandbox before anything new begins: its outbox may be served under another name, and its workspace be
// asked for again. A sandbox that cannot be removed at once is removed later.
func (m *Removals) Now(key string, h sandbox.Handle) {
	crash.At("recover.dropped")
	if err := m.Once(h); err != nil {
		m.Later(key, h)
	}
}

// Once removes a sandbox that no run waits for, or says why that cannot be done now.
func (m *Removals) Once(h sandbox.Handle) error {
	held := m.notices.Flag("")
	defer held.Close()
	err := m.calls.once(held, func(ctx context.Context) error { return m.fromLauncher(ctx, m.launchers[h.Launcher], h) })
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	return err
}

// await waits until no sandbox of the key is being removed: a crash can leave a sandbox that no record names, and its request
// begins anew. It does not wait for longer than its run goes on.
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

// removeLeft removes the sandbox of a call that was left behind and has returned.
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

// removeCreated removes what an abandoned Create has made. A Create that returned an error may still have made a sandbox.
func (m *Removals) removeCreated(launcher sandbox.Launcher, id sandbox.SandboxID, h sandbox.Handle, err error) {
	if err != nil {
		h = m.find(launcher, id)
	}
	if h.ID != "" {
		m.removeLeft(launcher, h)
	}
}

// find finds what a failed create may have left: the launcher can succeed although the call failed.
func (m *Removals) find(launcher sandbox.Launcher, id sandbox.SandboxID) (found sandbox.Handle) {
	_ = m.calls.insistAlways("look for what a failed launch left", func(ctx context.Context) error { // it fails only when nothing works any more
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
