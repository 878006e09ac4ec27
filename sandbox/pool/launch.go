package pool

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/sandbox"
)

// Create brings a run into the sandbox that was claimed for it. For any other id, and where that fails by no fault of the request's,
// it makes a sandbox.
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
			return furnished, err // the sandbox of a failed run goes when that releases it
		}
		p.options.Log.Warn("a run cannot be brought into the sandbox that was made ahead, and gets another one", "sandbox", h.handle.ID, "error", err)
	}
	if err := p.Release(ctx, id); err != nil {
		return sandbox.Handle{}, err
	}
	defer p.launch()()
	return p.Launcher.Create(ctx, id, spec)
}

// begin finds the claimed sandbox of an id, nil where there is none. It is fit once: what was tried and failed may have brought in a part.
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

// errGivenUp says that a run has let go of its sandbox while it was being brought in.
var errGivenUp = errors.New("the run does not wait for its sandbox any more")

// furnish brings a run in. A call that hangs in a file system may return when the run has given up: then the sandbox goes, and not
// before, since the call may still write into its slot.
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

// launch notes that a run makes a sandbox, until done is called. Nothing is made ahead meanwhile, for a time.
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

// Start has nothing to do for a sandbox that holds already.
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

// Open returns the attachment that can release a sandbox that was claimed, once.
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

// Remove removes a sandbox, whoever made it.
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
