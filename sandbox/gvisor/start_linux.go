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

// Start starts a keeper, which starts the sandbox, whose init holds. The first attachment is there before that, so that no output is missed.
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

// startsEach is how many sandboxes start at once for each processor. More would all be slower, and none sooner.
const startsEach = 2

// start checks what is mounted in the slot, and waits for its turn; after the check runsc uses nothing else. It checks first: the file
// systems that it asks are a parent's, and one that hangs must hold no turn of others.
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

// turnTime is how long a start may keep others waiting. A start that takes longer hangs, and gives its turn back before it ends.
const turnTime = 10 * time.Second

// turns are as many as there is room for. Each that is taken is in the channel.
type turns chan struct{}

// take waits for a turn, and returns how to give it back, which can be repeated.
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

// proveViews compares what lies in a sandbox's slot with what was placed there. An ordinary user's keeper does it, in whose
// namespace the mounts are.
func (l *Launcher) proveViews(r boxes.Record) error {
	if len(r.Views.Mounts) == 0 && !r.Ahead {
		return errors.New("its record names no mounts to compare with: remove it, and ask again")
	}
	if l.rootless {
		return nil
	}
	l.mu.Lock()
	held, ok := l.held[string(r.Sandbox)]
	l.mu.Unlock()
	if !ok {
		return errors.New("its slot is not ours")
	}
	return r.Views.Prove(held.slot)
}

// Open follows a sandbox. The first time that is the line from which nothing is missing; later it is the keeper's log, or
// what a keeper that is gone has left of it.
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

// followed is a sandbox for an attachment to it.
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

// takeLine is the line from the beginning, for one taker.
func (l *Launcher) takeLine(id string) *keeper.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[id]
	delete(l.lines, id)
	return line
}
