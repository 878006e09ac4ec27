package gvisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/follow"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/gvisor/keeper/output"
	"torno/sandbox/local"
)

// Start starts a keeper, which starts the sandbox, where init then holds. The first attachment exists before that, so
// that it misses no output.
func (l *Launcher) Start(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.boxes.Site()); err != nil {
		return err
	}
	unlock, err := l.busy.lock(ctx, h.ID)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.boxes.Read(h.ID)
	if err != nil {
		return err
	}
	box := l.boxes.Keeper(h.ID)
	state, err := box.State()
	switch {
	case err != nil:
		return fmt.Errorf("look at sandbox %s: %w", h.ID, err)
	case state == keeper.Created && !r.Holds():
		return fmt.Errorf("start sandbox %s, whose init does not hold: %w", h.ID, sandbox.ErrUncertain)
	case state == keeper.Created:
		return l.start(ctx, r)
	case state == keeper.Lost:
		return fmt.Errorf("start sandbox %s: %w", h.ID, sandbox.ErrUncertain)
	case state == keeper.Live:
		return nil
	}
	end, err := box.End()
	if err == nil {
		err = end.NotStarted()
	}
	if err != nil {
		return fmt.Errorf("start sandbox %s: %w", h.ID, err)
	}
	return nil
}

// startsEach bounds how many sandboxes start at once for each processor. With more, all would be slower and none would
// be ready sooner.
const startsEach = 2

// start checks the mounts in the slot, and then waits for its turn. After the check runsc uses no other mounts. The
// check comes before the turn because it asks a parent's file systems: one that hangs must not hold up other sandboxes'
// turns.
func (l *Launcher) start(ctx context.Context, r boxes.Record) error {
	id := string(r.Sandbox)
	if err := l.proveViews(r); err != nil {
		return fmt.Errorf("start sandbox %s: %w", id, err)
	}
	giveBack, err := l.turns.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	ctx, cancel := local.StepContext(ctx)
	defer cancel()
	line, err := l.startKeeper(ctx, id)
	if errors.Is(err, keeper.ErrGone) {
		return fmt.Errorf("start sandbox %s: %w: %w", id, sandbox.ErrUncertain, err)
	}
	if err != nil {
		return fmt.Errorf("start sandbox %s: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[id] = line
	return nil
}

// turnTime bounds how long a start may keep others waiting. A start that takes longer hangs; it gives its turn back
// before it ends.
const turnTime = 10 * time.Second

// turns is a channel with room for all turns; it holds one element for each turn that is taken.
type turns chan struct{}

// take waits for a turn and returns a function that gives it back. The function can be called again without effect.
func (t turns) take(ctx context.Context) (giveBack func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	once := sync.OnceFunc(func() { <-t })
	late := time.AfterFunc(turnTime, once)
	return func() {
		late.Stop()
		once()
	}, nil
}

// proveViews compares the mounts in a sandbox's slot, which must be ours, with the ones that were placed there. For an
// ordinary user the keeper compares them, because the mounts are in its namespace.
func (l *Launcher) proveViews(r boxes.Record) error {
	if len(r.Views.Mounts) == 0 && !r.Ahead {
		return errors.New("its record names no mounts to compare with: remove it, and ask again")
	}
	l.mu.Lock()
	held, ok := l.held[string(r.Sandbox)]
	l.mu.Unlock()
	if !ok {
		return errors.New("its slot is not ours")
	}
	if l.rootless {
		return nil
	}
	return r.Views.Prove(held.slot)
}

// Open follows a sandbox. The first call gets the line from the start, which misses nothing. Later calls get the
// keeper's log, or the rest of it if the keeper is gone.
func (l *Launcher) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	if err := h.On(l.boxes.Site()); err != nil {
		return nil, err
	}
	from, err := output.ParseProgress(string(cursor))
	if err != nil {
		return nil, err
	}
	r, err := l.boxes.Read(h.ID)
	if err != nil {
		return nil, err
	}
	box := l.boxes.Keeper(h.ID)
	state, err := box.State()
	if err != nil {
		return nil, fmt.Errorf("look at sandbox %s: %w", h.ID, err)
	}
	if state == keeper.Created {
		return nil, fmt.Errorf("sandbox %s was never started", h.ID)
	}
	line := l.takeLine(h.ID)
	if line != nil && cursor != "" {
		line.Close()
		line = nil
	}
	first := line != nil
	if line == nil {
		if line, err = box.Attach(ctx, from); err != nil {
			return nil, fmt.Errorf("open sandbox %s: %w", h.ID, err)
		}
	}
	return follow.New(l.followed(h.ID, r.Stdin), line, first, &l.attached), nil
}

// followed describes a sandbox for an attachment.
func (l *Launcher) followed(id string, stdin bool) follow.Sandbox {
	return follow.Sandbox{
		ID: id, Box: l.boxes.Keeper(id), Stdin: stdin,
		Read: func() error { _, err := l.boxes.Read(id); return err },
		Lost: func(ctx context.Context) (sandbox.Exit, error) { return l.afterKeeper(ctx, id) },
		Kill: func(ctx context.Context) error { return l.kill(ctx, id) },
		Signal: func(ctx context.Context, s sandbox.Signal) error {
			return l.runsc().Signal(ctx, id, l.boxes.Path(id), s)
		},
	}
}

// takeLine returns the line from the start of a sandbox and forgets it, so that only one caller gets it.
func (l *Launcher) takeLine(id string) *keeper.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[id]
	delete(l.lines, id)
	return line
}
