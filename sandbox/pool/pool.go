package pool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"torno/internal/crash"
	"torno/sandbox"
)

// Preparer is what a launcher has beside sandbox.Launcher that can make sandboxes ahead of runs.
type Preparer interface {
	// CanPrepare says why it cannot here, nil where it can.
	CanPrepare() error
	// Prepare makes a sandbox of a shape, of which nothing runs. It is then started, opened and attested as every other one.
	Prepare(context.Context, sandbox.SandboxID, sandbox.Shape) (sandbox.Handle, error)
	// Furnish brings a run into a sandbox that holds and was attested empty, and returns its handle with the run's workspace. A
	// *delegation.Refusal is the request's. After any error the sandbox is of no more use.
	Furnish(context.Context, sandbox.Handle, sandbox.Spec) (sandbox.Handle, error)
	// Weigh is how much memory an empty sandbox takes; 0 where that is not known.
	Weigh(sandbox.Handle) int64
}

// Auto as a Size is a pool that follows what is asked for.
const Auto = -1

// Options say how large a pool is.
type Options struct {
	Size int           // of each shelf; Auto follows what is asked for, and 0 is no pool
	Idle time.Duration // a shelf that no request has asked for so long is emptied
	Most int           // sandboxes in all shelves together
	// Memory is what the machine has in all, and what is free of it. Without it, or where it is not known (0), memory bounds nothing.
	Memory func() (total, free int64)
	Log    *slog.Logger
}

// Pool is a launcher with sandboxes that were made ahead. It is safe for concurrent use.
type Pool struct {
	sandbox.Launcher // what stands behind it
	preparer         Preparer
	options          Options
	wake             chan struct{} // something has changed that may have to be filled up or emptied
	work             sync.WaitGroup

	mu        sync.Mutex
	shelves   map[string]*shelf
	left      []*held                     // of shelves that were closed, to be dropped
	claimed   map[sandbox.SandboxID]*held // for a run that has brought nothing in yet
	used      map[string]*held            // by the launcher's id: the run is in, and has not opened it yet
	launching int                         // sandboxes that runs are making
	launched  time.Time                   // when the last of them was begun
	busy      time.Time                   // until when a run that has claimed one may be on its way to its agent
	closed    bool
}

var _ sandbox.Launcher = (*Pool)(nil)

// New makes an empty pool. The launcher and its preparer are one: the former may be wrapped.
func New(launcher sandbox.Launcher, preparer Preparer, o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{
		Launcher: launcher, preparer: preparer, options: o, wake: make(chan struct{}, 1),
		shelves: map[string]*shelf{}, claimed: map[sandbox.SandboxID]*held{}, used: map[string]*held{},
	}
}

// Expect opens a shelf before a request has asked for it. A pool that follows what is asked for keeps nothing before.
func (p *Pool) Expect(outbox string, spec sandbox.Spec) {
	if p.options.Size == Auto {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shelfFor(outbox, spec, time.Now()); s != nil {
		s.expected = true
	}
	p.stir()
}

// Claim takes a sandbox for a run, and returns its id; "" where there is none, and the run makes one. The caller binds the id to the run
// and then calls Create with it, or Release.
func (p *Pool) Claim(outbox string, spec sandbox.Spec) sandbox.SandboxID {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.stir()
	now := time.Now()
	s := p.shelfFor(outbox, spec, now)
	if s == nil {
		return ""
	}
	s.ask(now)
	h := s.take()
	if h == nil {
		s.missed++
		return ""
	}
	s.used++
	p.busy = now.Add(startTime)
	p.claimed[h.handle.Sandbox] = h
	crash.At("pool.claimed")
	return h.handle.Sandbox
}

// Release gives a claimed sandbox up, of which no run was made. It does nothing for any other one.
func (p *Pool) Release(ctx context.Context, id sandbox.SandboxID) error {
	p.mu.Lock()
	h := p.claimed[id]
	if h != nil && h.furnishing {
		h.givenUp, h = true, nil // it goes when that call returns
	} else {
		delete(p.claimed, id)
	}
	p.mu.Unlock()
	if h == nil {
		return nil
	}
	if err := p.drop(ctx, h); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.claimed[id] = h // to be tried again
		return err
	}
	return nil
}

// stir has the shelves looked at.
func (p *Pool) stir() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
