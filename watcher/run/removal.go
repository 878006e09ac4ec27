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
func (w *Road) remove(r *Run) {
	if r.handle.ID == "" {
		return
	}
	held, away := w.Notices.FlagOf(r.request.Outbox, r.key.Subagent), w.Notices.Flag("")
	defer held.Close()
	defer away.Close()
	for try := 1; ; try++ {
		err := w.removeOnce(away, r.launcher, r.handle)
		if err == nil {
			r.handle = sandbox.Handle{}
			return
		}
		log := r.log.With("run", r.hash, "sandbox", r.handle.ID, "try", try, "error", err)
		if w.Life.Err() != nil {
			log.Error("a sandbox is left; the next start removes it")
			return
		}
		r.dead = r.dead || w.hasEnded(away, r.launcher, r.handle)
		if r.dead && w.removeBehind(r.launcher, r.handle) {
			log.Warn("a sandbox that has ended cannot be removed; its run goes on without it")
			r.handle = sandbox.Handle{}
			return
		}
		held.Raise(delegation.NoticeSandbox, err)
		if retry.IsLogged(try) {
			log.Warn("a sandbox cannot be removed; its run keeps its place")
		}
		w.pause(w.Life, retry.Backoff(try))
	}
}

// removeOnce removes a sandbox, or says why that cannot be done now.
func (w *Road) removeOnce(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) error {
	err := w.once(away, func(ctx context.Context) error {
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
func (w *Road) hasEnded(away *notice.Flag, launcher sandbox.Launcher, h sandbox.Handle) (ended bool) {
	err := w.once(away, func(ctx context.Context) error {
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
func (w *Road) removeBehind(launcher sandbox.Launcher, h sandbox.Handle) bool {
	if w.leftovers.Add(1) > MaxLeftovers {
		w.leftovers.Add(-1)
		return false
	}
	w.runs.Go(func() {
		defer w.leftovers.Add(-1)
		held, away := w.Notices.Flag(""), w.Notices.Flag("")
		defer held.Close()
		defer away.Close()
		held.Raise(delegation.NoticeLeftovers, nil)
		for try := 1; w.Life.Err() == nil; try++ {
			w.pause(w.Life, retry.Backoff(try))
			err := w.removeOnce(away, launcher, h)
			if err == nil {
				return
			}
			retry.Warn(w.Log, "remove a sandbox that has ended", try, err)
		}
		w.left.Add(1)
		w.Log.Error("a sandbox that has ended is left; the next start removes it", "sandbox", h.ID)
	})
	return true
}

// RemoveLater removes a sandbox that no run waits for; key is of the run that it was made for, "" where nobody knows. One that
// cannot be removed does not keep the watcher from its work.
func (w *Road) RemoveLater(key string, h sandbox.Handle) {
	launcher, gone := w.Launchers[h.Launcher], make(chan struct{})
	if key != "" {
		w.removing.Store(key, gone)
	}
	free := sync.OnceFunc(func() { close(gone) })
	w.runs.Go(func() {
		defer free()
		err := w.insistAlways("remove a sandbox", func(ctx context.Context) error {
			crash.At("recover.removed")
			err := launcher.Remove(ctx, h)
			if err != nil && w.hasEnded(nil, launcher, h) {
				free() // what is left of it is in no run's way
			}
			return err
		})
		if err != nil {
			w.left.Add(1)
			w.Log.Error("a sandbox is left; the next start removes it", "sandbox", h.ID, "error", err)
		}
	})
}

// RemoveNow removes a sandbox before anything new begins: its outbox may be served under another name, and its workspace be
// asked for again. One that cannot be removed at once is removed later.
func (w *Road) RemoveNow(key string, h sandbox.Handle) {
	crash.At("recover.dropped")
	if err := w.RemoveOnce(h); err != nil {
		w.RemoveLater(key, h)
	}
}

// RemoveOnce removes a sandbox that no run waits for, or says why that cannot be done now.
func (w *Road) RemoveOnce(h sandbox.Handle) error {
	held := w.Notices.Flag("")
	defer held.Close()
	err := w.once(held, func(ctx context.Context) error { return w.Launchers[h.Launcher].Remove(ctx, h) })
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	return err
}

// awaitRemoval waits until no sandbox of the key is being removed: a crash can leave one that nobody noted, and its request
// begins anew.
func (w *Road) awaitRemoval(key string) {
	gone, ok := w.removing.Load(key)
	if !ok {
		return
	}
	ending := w.Life
	if r := w.Running(key); r != nil {
		ending = r.ending
	}
	select {
	case <-gone.(chan struct{}):
	case <-ending.Done():
	case <-w.Life.Done():
	}
}
