package gvisor

import (
	"context"
	"errors"
	"fmt"

	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/follow"
	"torno/sandbox/gvisor/keeper"
)

// List returns all boxes. If a sandbox's keeper was killed, List kills the sandbox too before it lists it as ended.
func (l *Launcher) List(ctx context.Context) ([]sandbox.Handle, error) {
	ids, err := l.boxes.All()
	if err = errors.Join(l.boxes.Prove(), err); err != nil {
		return nil, fmt.Errorf("list the sandboxes: %w", err)
	}
	all := []sandbox.Handle{}
	for _, id := range ids {
		h, err := l.find(ctx, id)
		if errors.Is(err, sandbox.ErrNotFound) {
			continue // removed since
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			l.options.Log.Warn("a sandbox cannot be looked at; the watcher leaves it alone", "sandbox", id, "error", err)
			h.Launcher, h.Site, h.ID, h.Sandbox = Name, l.boxes.Site(), id, sandbox.SandboxID(id)
			h.State, h.Exit = sandbox.HandleUncertain, nil
		}
		if h.ID != trialID {
			all = append(all, h)
		}
	}
	return all, nil
}

func (l *Launcher) find(ctx context.Context, id string) (sandbox.Handle, error) {
	r, err := l.boxes.Read(id)
	if err != nil {
		return sandbox.Handle{}, err
	}
	h := l.boxes.Handle(r)
	state, err := l.boxes.Keeper(id).State()
	switch {
	case err != nil:
		return h, fmt.Errorf("look at sandbox %s: %w", id, err)
	case state == keeper.Created:
		h.State = sandbox.HandleCreated
		return h, nil
	case state == keeper.Live:
		h.State = sandbox.HandleRunning
		return h, nil
	}
	exit, err := l.afterKeeper(ctx, id)
	h.State, h.Exit = sandbox.HandleExited, &exit
	return h, err
}

// afterKeeper returns how a sandbox without a keeper ended. If the end is not known, afterKeeper makes sure that the
// sandbox is dead.
func (l *Launcher) afterKeeper(ctx context.Context, id string) (sandbox.Exit, error) {
	if _, err := l.boxes.Read(id); err != nil {
		return sandbox.Exit{}, err
	}
	end, err := l.boxes.Keeper(id).End()
	if err == nil {
		return follow.ExitOf(end), nil
	}
	if !errors.Is(err, keeper.ErrGone) {
		return sandbox.Exit{}, fmt.Errorf("read how sandbox %s ended: %w", id, err)
	}
	if err := l.killRest(ctx, id); err != nil {
		return sandbox.Exit{}, fmt.Errorf("end sandbox %s, whose keeper was killed: %w", id, err)
	}
	return sandbox.Exit{Unknown: true, Why: "its keeper was killed"}, nil
}

// Remove ends a running sandbox and removes it.
func (l *Launcher) Remove(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.boxes.Site()); err != nil {
		return err
	}
	unlock, err := l.busy.lock(ctx, h.ID)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.boxes.Read(h.ID)
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	if err != nil && !errors.Is(err, boxes.ErrDamaged) {
		return err
	}
	if line := l.takeLine(h.ID); line != nil {
		line.Close()
	}
	l.takePins(h.ID).Close()
	taken, err := l.end(ctx, h.ID)
	if err != nil {
		return fmt.Errorf("end sandbox %s: %w", h.ID, err)
	}
	defer taken.Close()
	return l.discard(r)
}

// discard removes everything of a sandbox that does not run. It frees the slot first: so a crash can leave a box
// without a slot, which another sandbox may have by then, but never a slot without a box.
func (l *Launcher) discard(r boxes.Record) error {
	if err := l.release(r); err != nil {
		return err
	}
	if err := l.runsc().Forget(string(r.Sandbox)); err != nil {
		return err
	}
	return l.boxes.Remove(string(r.Sandbox))
}

func (l *Launcher) release(r boxes.Record) error {
	l.mu.Lock()
	held, ok := l.held[string(r.Sandbox)]
	l.mu.Unlock()
	if !ok {
		return nil
	}
	if err := held.release(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, string(r.Sandbox))
	delete(l.ahead, string(r.Sandbox))
	return nil
}
