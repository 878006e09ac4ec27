package pool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"torno/internal/crash"
	"torno/sandbox"
)

// Preparer has the methods that a launcher needs, beside sandbox.Launcher, to make sandboxes ahead of runs.
type Preparer interface {
	// CanPrepare returns the reason why no sandbox can be made ahead here; nil if it can.
	CanPrepare() error
	// Prepare makes a sandbox of a shape; nothing in it runs yet. It is then started, opened and attested like any
	// other.
	Prepare(context.Context, sandbox.SandboxID, sandbox.Shape) (sandbox.Handle, error)
	// Furnish brings a run into a sandbox that holds and was attested while empty. It returns the sandbox's handle with
	// the run's workspace. A *delegation.Refusal is the request's fault. After any error the sandbox cannot be used any
	// more.
	Furnish(context.Context, sandbox.Handle, sandbox.Spec) (sandbox.Handle, error)
	// Weigh returns the memory that an empty sandbox takes; 0 if it is not known.
	Weigh(sandbox.Handle) int64
}

// Auto as a Size makes a pool follow the demand.
const Auto = -1

// Options tells how large a pool is.
type Options struct {
	Size int           // of each shelf; Auto follows the demand, 0 means no pool
	Idle time.Duration // a shelf is emptied after this long without a request
	Most int           // sandboxes in all shelves together
	// Memory returns the machine's total and free memory. If it is nil or returns 0 (not known), memory bounds nothing.
	Memory func() (total, free int64)
	Log    *slog.Logger
}

// Pool is a launcher with sandboxes that were made ahead. It is safe for concurrent use.
type Pool struct {
	sandbox.Launcher // the launcher behind the pool
	preparer         Preparer
	options          Options
	wake             chan struct{} // signals that shelves may have to be filled or emptied
	work             sync.WaitGroup

	mu        sync.Mutex
	shelves   map[string]*shelf
	left      []*held                     // from closed shelves, to be dropped
	claimed   map[sandbox.SandboxID]*held // claimed for a run that has brought nothing in yet
	used      map[string]*held            // by the launcher's id: the run is in, but has not opened it yet
	launching int                         // number of sandboxes that runs are making
	launched  time.Time                   // when a run last began to make one
	busy      time.Time                   // until then a run with a claimed sandbox may be on its way to its agent
	closed    bool
}

var _ sandbox.Launcher = (*Pool)(nil)

// New makes an empty pool. launcher and preparer are the same launcher, but launcher may be wrapped.
func New(launcher sandbox.Launcher, preparer Preparer, o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{
		Launcher: launcher, preparer: preparer, options: o, wake: make(chan struct{}, 1),
		shelves: map[string]*shelf{}, claimed: map[sandbox.SandboxID]*held{}, used: map[string]*held{},
	}
}

// Expect opens a shelf before a request has asked for it. A pool with Auto ignores it: it keeps nothing before a
// request.
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

// Claim takes a sandbox for a run and returns its id. It returns "" if none is ready; then the run makes one. The
// caller binds the id to the run and then calls Create with it, or Release.
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

// Release gives up a claimed sandbox that no run was brought into. It does nothing for any other sandbox.
func (p *Pool) Release(ctx context.Context, id sandbox.SandboxID) error {
	p.mu.Lock()
	h := p.claimed[id]
	if h != nil && h.furnishing {
		h.givenUp, h = true, nil // furnish drops it when its call returns
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
		p.claimed[id] = h // for another try
		return err
	}
	return nil
}

// stir makes Run look at the shelves.
func (p *Pool) stir() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
