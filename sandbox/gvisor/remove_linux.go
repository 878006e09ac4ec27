package gvisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/keeper"
	"torno/sandbox"
)

// List returns all boxes. A sandbox whose keeper was killed is killed, too, before it is listed as ended.
func (l *Launcher) List(ctx context.Context) ([]sandbox.Handle, error) {
	ids, _, err := l.boxes.all()
	if err != nil {
		return nil, fmt.Errorf("list the sandboxes: %w", err)
	}
	all := []sandbox.Handle{}
	for _, id := range ids {
		h, err := l.find(ctx, id)
		if errors.Is(err, sandbox.ErrNotFound) {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		if h.Key != trialRun {
			all = append(all, h)
		}
	}
	return all, nil
}

func (l *Launcher) find(ctx context.Context, id string) (sandbox.Handle, error) {
	r, err := l.boxes.read(id)
	if err != nil {
		return sandbox.Handle{}, err
	}
	h := r.handle()
	state, err := l.boxes.keeper(id).State()
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

// afterKeeper is how a sandbox ended whose keeper is gone. One of which nobody knows is dead afterwards.
func (l *Launcher) afterKeeper(ctx context.Context, id string) (sandbox.Exit, error) {
	if _, err := l.boxes.read(id); err != nil {
		return sandbox.Exit{}, err
	}
	end, err := l.boxes.keeper(id).End()
	if err == nil {
		return exitOf(end), nil
	}
	if err := l.killRest(ctx, id); err != nil {
		return sandbox.Exit{}, fmt.Errorf("end sandbox %s, whose keeper was killed: %w", id, err)
	}
	return sandbox.Exit{Unknown: true, Why: "its keeper was killed"}, nil
}

// Remove ends what runs and removes the sandbox.
func (l *Launcher) Remove(ctx context.Context, h sandbox.Handle) error {
	unlock, err := l.lock(ctx, h.ID)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.boxes.read(h.ID)
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if line := l.takeLine(h.ID); line != nil {
		line.Close()
	}
	l.takePins(h.ID).Close()
	if err := l.end(ctx, h.ID); err != nil {
		return fmt.Errorf("end sandbox %s: %w", h.ID, err)
	}
	return l.discard(r)
}

// end kills the sandbox and waits until its keeper is gone.
func (l *Launcher) end(ctx context.Context, id string) error {
	box := l.boxes.keeper(id)
	for {
		held, err := box.Held()
		if err != nil {
			return err
		}
		if !held {
			return l.killRest(ctx, id)
		}
		_ = box.Kill(ctx) // a keeper that tidies up does not listen any more
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(endPause):
		}
	}
}

// endPause is between two looks at a keeper that has been told to end.
const endPause = 2 * time.Millisecond

// killRest kills what is left of a sandbox without a keeper, and removes its control group.
func (l *Launcher) killRest(ctx context.Context, id string) error {
	if plan := l.groups.plan(id, sandbox.Limits{}); plan != nil {
		return plan.Group().Remove(ctx)
	}
	return killSentry(ctx, l.boxes.path(id))
}

// killSentry kills the sentry of a box, if the process of its number is one: the box is in its command line.
func killSentry(ctx context.Context, box string) error {
	text, err := os.ReadFile(filepath.Join(box, keeper.PidName))
	if err != nil {
		return nil // none was started
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("the sentry's pid is %q", text)
	}
	for isSentry(pid, box) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(endPause):
		}
	}
	return nil
}

func isSentry(pid int, box string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && bytes.Contains(line, []byte(box))
}

// discard removes what there is of a sandbox in which nothing runs: its slot first, so that a box without one is what a
// crash leaves, and not a slot that nobody knows.
func (l *Launcher) discard(r record) error {
	if err := l.release(r); err != nil {
		return err
	}
	if err := l.forgetState(r.Run); err != nil {
		return err
	}
	return l.boxes.remove(r.Run)
}

// forgetState removes what runsc has noted of a sandbox. Executing it for that would take longer than the sandbox may have.
func (l *Launcher) forgetState(id string) error {
	files, err := filepath.Glob(filepath.Join(l.dir(), "runsc", "*"+id+"*"))
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

func (l *Launcher) release(r record) error {
	l.mu.Lock()
	held, ok := l.held[r.Run]
	l.mu.Unlock()
	if !ok {
		return nil
	}
	if err := held.release(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, r.Run)
	return nil
}

// sweep takes up what an earlier life left, and removes what it left unfinished.
func (l *Launcher) sweep(ctx context.Context) error {
	ids, rest, err := l.boxes.all()
	if err != nil {
		return fmt.Errorf("list the sandboxes: %w", err)
	}
	kept := map[string]bool{}
	for _, id := range ids {
		if err := l.takeUp(ctx, id); err != nil {
			return fmt.Errorf("take up sandbox %s: %w", id, err)
		}
		kept[id] = true
	}
	for _, name := range rest {
		if err := os.RemoveAll(filepath.Join(l.boxes.dir, name)); err != nil {
			return fmt.Errorf("remove what an earlier start left: %w", err)
		}
	}
	if kept[trialRun] {
		if err := l.Remove(ctx, sandbox.Handle{ID: trialRun}); err != nil {
			return err
		}
		delete(kept, trialRun)
	}
	return errors.Join(l.slots.Sweep(nil), l.sweepGroups(ctx, kept))
}

// takeUp claims the slot of a sandbox, and holds its image.
func (l *Launcher) takeUp(ctx context.Context, id string) error {
	r, err := l.boxes.read(id)
	if err != nil {
		return err
	}
	var held holding
	if held.slot, err = l.slots.Claim(r.Slot); err != nil {
		return err
	}
	if r.Image != "" {
		if held.image, err = l.images.Use(ctx, r.Image); err != nil { // it lives on with what it has mounted
			l.options.Log.Warn("a sandbox's image is not in the cache any more", "sandbox", id, "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[id] = held
	return nil
}

// sweepGroups removes the control groups of boxes that are gone.
func (l *Launcher) sweepGroups(ctx context.Context, kept map[string]bool) error {
	if l.groups.err != nil {
		return nil
	}
	left, err := l.groups.tree.Left(l.groups.name)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range left {
		if !kept[name] {
			errs = append(errs, l.killRest(ctx, name))
		}
	}
	return errors.Join(errs...)
}
