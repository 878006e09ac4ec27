package pool

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/sandbox"
)

// Create brings a run into the sandbox that was claimed for it. It makes a new sandbox for any other id, and also if
// the bringing in fails without a fault of the request.
func (p *Pool) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	h, fit := p.begin(id)
	if h == nil {
		defer p.launch()()
		return p.Launcher.Create(ctx, id, spec)
	}
	if fit {
		furnished, err := p.furnish(ctx, h, spec)
		var refusal *delegation.Refusal
		if err == nil || errors.As(err, &refusal) || errors.Is(err, errGivenUp) || ctx.Err() != nil {
			return furnished, err // if the run failed, its release of the sandbox removes it
		}
		p.options.Log.Warn("a run cannot be brought into the sandbox that was made ahead; it gets a new sandbox", "sandbox", h.handle.ID, "error", err)
	}
	if err := p.Release(ctx, id); err != nil {
		return sandbox.Handle{}, err
	}
	defer p.launch()()
	return p.Launcher.Create(ctx, id, spec)
}

// begin returns the claimed sandbox of an id, or nil. Only the first call reports it as fit: a failed attempt may have
// brought in a part of the run.
func (p *Pool) begin(id sandbox.SandboxID) (h *held, fit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h = p.claimed[id]
	if h == nil {
		return nil, false
	}
	fit = !h.spoiled
	h.furnishing, h.spoiled = fit, true
	return h, fit
}

// errGivenUp means that a run let go of its sandbox while it was being brought in.
var errGivenUp = errors.New("the run no longer waits for its sandbox")

// furnish brings a run in. The call may hang in a file system, and return only after the run has given up. Only then
// does furnish drop the sandbox: until then the call might still write into its slot.
func (p *Pool) furnish(ctx context.Context, h *held, spec sandbox.Spec) (sandbox.Handle, error) {
	crash.At("pool.furnished")
	furnished, err := p.preparer.Furnish(ctx, h.handle, spec)
	crash.At("pool.brought")
	p.mu.Lock()
	h.furnishing = false
	givenUp := h.givenUp
	if givenUp || err == nil {
		delete(p.claimed, h.handle.Sandbox)
	}
	if err == nil && !givenUp {
		h.handle = furnished
		p.used[furnished.ID] = h
	}
	p.mu.Unlock()
	if givenUp {
		return sandbox.Handle{}, errors.Join(errGivenUp, p.drop(ctx, h))
	}
	if err != nil {
		return sandbox.Handle{}, err
	}
	return furnished, nil
}

// launch notes that a run makes a sandbox, until done is called. Meanwhile the pool makes none ahead, for a limited
// time.
func (p *Pool) launch() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.launching++
	p.launched = time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.launching--
		p.stir()
	}
}

// Start does nothing for a sandbox that already holds.
func (p *Pool) Start(ctx context.Context, h sandbox.Handle) error {
	p.mu.Lock()
	there := p.used[h.ID] != nil
	p.mu.Unlock()
	if there {
		return nil
	}
	defer p.launch()()
	return p.Launcher.Start(ctx, h)
}

// Open returns, once, the attachment that can release a claimed sandbox.
func (p *Pool) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	p.mu.Lock()
	mine := p.used[h.ID]
	delete(p.used, h.ID)
	p.mu.Unlock()
	if mine == nil {
		return p.Launcher.Open(ctx, h, cursor)
	}
	if cursor == "" {
		return mine.attachment, nil
	}
	return nil, errors.Join(sandbox.ErrNotHeld, mine.attachment.Close())
}

// Remove removes a sandbox, whether the pool or a run made it.
func (p *Pool) Remove(ctx context.Context, h sandbox.Handle) error {
	p.mu.Lock()
	mine := p.used[h.ID]
	delete(p.used, h.ID)
	p.mu.Unlock()
	if mine != nil {
		mine.attachment.Close()
	}
	return p.Launcher.Remove(ctx, h)
}
