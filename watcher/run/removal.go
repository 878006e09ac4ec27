package run

import (
	"context"
	"errors"
	"sync"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/notice"
)

// MaxLeftovers bounds how many sandboxes that have ended are removed behind their runs. With more of them a run keeps its place
// until one is gone.
const MaxLeftovers = 64

// remove returns when no process of the run's sandbox is left: the sandbox is removed, or its launcher says that it has ended, and
// removeBehind removes the rest of it behind the run. A sandbox that may live is removed again and again, until that is done or the watcher stops
// working: it then carries the installation's id and is found at the next start.
func (runs *Runs) remove(r *Run) {
	if r.handle.ID == "" {
		return
	}
	held, away := runs.Notices.FlagOf(r.request.Outbox, r.key.Subagent), runs.Notices.Flag("")
	defer held.Close()
	defer away.Close()
	for try := 1; ; try++ {
		err := runs.removeOnce(away, r.launcher, r.handle)
		if err == nil {
			r.handle = sandbox.Handle{}
			return
		}
		log := r.log.With("run", r.hash, "sandbox", r.handle.ID, "try", try, "error", err)
		if runs.Life.Err() != nil {
			log.Error("a sandbox is left; the next start removes it")
			return
		}
		r.dead = r.dead || runs.hasEnded(away, r.launcher, r.handle)
		if r.dead && runs.removeBehind(r.launcher, r.handle) {
			log.Warn("a sandbox that has ended cannot be removed; its run goes on without it")
			r.handle = sandbox.Handle{}
			return
		}
		held.Raise(delegation.NoticeSandbox, err)
		if retry.IsLogged(try) {
			log.Warn("a sandbox cannot be removed; its run keeps its place")
		}
		runs.calls.pause(runs.Life, retry.Backoff(try))
	}
}

// removeOnce removes a sandbox, or says why that cannot be done now.
func (runs *Runs) removeOnce(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) error {
	err := runs.calls.once(away, func(ctx context.Context) error {
		crash.At("end.removed")
		return launcher.Remove(ctx, h)
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

// hasEnded says whether a launcher knows that a sandbox has ended. That a launcher does not list it proves nothing: its processes may
// outlive its name.
func (runs *Runs) hasEnded(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) (ended bool) {
	err := runs.calls.once(away, func(ctx context.Context) error {
		all, err := launcher.List(ctx)
		for _, other := range all {
			ended = ended || other.ID == h.ID && other.State == sandbox.HandleExited
		}
		return err
	})
	return ended && err == nil
}

// removeBehind removes a sandbox that has ended, while the watcher goes on. It is false where as many others are being removed as may
// be. A watcher that stops counts those that are left.
func (runs *Runs) removeBehind(launcher sandbox.Launcher, h sandbox.Handle) bool {
	if runs.leftovers.Add(1) > MaxLeftovers {
		runs.leftovers.Add(-1)
		return false
	}
	runs.carried.Go(func() {
		defer runs.leftovers.Add(-1)
		held, away := runs.Notices.Flag(""), runs.Notices.Flag("")
		defer held.Close()
		defer away.Close()
		held.Raise(delegation.NoticeLeftovers, nil)
		for try := 1; runs.Life.Err() == nil; try++ {
			runs.calls.pause(runs.Life, retry.Backoff(try))
			err := runs.removeOnce(away, launcher, h)
			if err == nil {
				return
			}
			retry.Warn(runs.Log, "remove a sandbox that has ended", try, err)
		}
		runs.left.Add(1)
		runs.Log.Error("a sandbox that has ended is left; the next start removes it", "sandbox", h.ID)
	})
	return true
}

// RemoveLater removes a sandbox that no run waits for; key is of the run that it was made for, "" where nobody knows. One that
// cannot be removed does not keep the watcher from its work.
func (runs *Runs) RemoveLater(key string, h sandbox.Handle) {
	launcher, gone := runs.Launchers[h.Launcher], make(chan struct{})
	if key != "" {
		runs.removing.Store(key, gone)
	}
	free := sync.OnceFunc(func() { close(gone) })
	runs.carried.Go(func() {
		defer free()
		err := runs.calls.insistAlways("remove a sandbox", func(ctx context.Context) error {
			crash.At("recover.removed")
			err := launcher.Remove(ctx, h)
			if err != nil && runs.hasEnded(nil, launcher, h) {
				free() // what is left of it is in no run's way
			}
			return err
		})
		if err != nil {
			runs.left.Add(1)
			runs.Log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
		}
	})
}

// RemoveNow removes a sandbox before anything new begins: its outbox may be served under another name, and its workspace be
// asked for again. One that cannot be removed at once is removed later.
func (runs *Runs) RemoveNow(key string, h sandbox.Handle) {
	crash.At("recover.dropped")
	if err := runs.RemoveOnce(h); err != nil {
		runs.RemoveLater(key, h)
	}
}

// RemoveOnce removes a sandbox that no run waits for, or says why that cannot be done now.
func (runs *Runs) RemoveOnce(h sandbox.Handle) error {
	held := runs.Notices.Flag("")
	defer held.Close()
	err := runs.calls.once(held, func(ctx context.Context) error { return runs.Launchers[h.Launcher].Remove(ctx, h) })
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	return err
}

// awaitRemoval waits until no sandbox of the key is being removed: a crash can leave one that nobody noted, and its request
// begins anew.
func (runs *Runs) awaitRemoval(key string) {
	gone, ok := runs.removing.Load(key)
	if !ok {
		return
	}
	ending := runs.Life
	if r := runs.Running(key); r != nil {
		ending = r.ending
	}
	select {
	case <-gone.(chan struct{}):
	case <-ending.Done():
	case <-runs.Life.Done():
	}
}
