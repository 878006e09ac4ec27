package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"torno/internal/crash"
	"torno/internal/retry"
	"torno/internal/runfile"
	"torno/sandbox"
)

const (
	lookEvery = time.Second // shelves change with time, so look at them this often
	// launchTime is the time for a run to make its own sandbox. After that, the pool makes sandboxes again: a run that
	// hangs must not keep other runs from finding one ready.
	launchTime  = 2 * time.Second
	startTime   = 50 * time.Millisecond // from a claim to the agent, on an otherwise idle machine
	prepareTime = time.Minute           // to make one sandbox
	dropTime    = 30 * time.Second      // to remove one sandbox
	oldest      = runfile.HoldTime / 2  // most age of a ready sandbox; later its init would end the hold by itself
)

// Run fills and empties the shelves until ctx is done. It makes one sandbox at a time, and begins none while a run
// makes its own, so a request never waits for it.
func (p *Pool) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if p.step(ctx) {
			continue
		}
		select {
		case <-p.wake:
		case <-p.soon():
		case <-ctx.Done():
		}
	}
}

// soon returns a channel that fires when Run must look at the shelves again although nothing has happened; nil for
// never.
func (p *Pool) soon() <-chan time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch wait := time.Until(p.busy); {
	case wait > 0:
		return time.After(wait)
	case len(p.shelves) > 0:
		return time.After(lookEvery)
	}
	return nil
}

// Close removes the ready sandboxes, as far as time allows. From now on Claim finds none. The caller must make sure
// that Run has returned and that no run makes sandboxes.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	left := p.left
	p.left = nil
	for _, s := range p.shelves {
		left = append(left, s.ready...)
		s.ready = nil
	}
	for _, h := range p.claimed { // the run was left to the next watcher before it brought anything in
		if h.givenUp = h.furnishing; !h.givenUp {
			left = append(left, h)
		}
	}
	clear(p.shelves)
	maps.DeleteFunc(p.claimed, func(_ sandbox.SandboxID, h *held) bool { return !h.givenUp })
	p.mu.Unlock()
	errs := make([]error, len(left))
	var removing sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, h := range left {
		removing.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			errs[i] = p.drop(ctx, h)
		})
	}
	removing.Wait()
	p.work.Wait()
	return errors.Join(errs...)
}

// atOnce is the number of sandboxes that Close removes at the same time.
const atOnce = 8

// step drops or makes one sandbox. It reports whether there was one to drop or to make.
func (p *Pool) step(ctx context.Context) bool {
	if h := p.surplus(); h != nil {
		p.dropLater(ctx, h)
		return true
	}
	s := p.lacking()
	if s == nil {
		return false
	}
	h, err := p.prepare(ctx, s.shape)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && p.closed:
		p.work.Go(func() { _ = p.drop(context.WithoutCancel(ctx), h) })
	case err == nil && s.closed:
		p.dropLater(ctx, h)
	case err == nil:
		s.ready, s.trouble = append(s.ready, h), ""
	case ctx.Err() == nil:
		p.fail(s, err)
	}
	return ctx.Err() == nil
}

// fail notes that a shelf could not be filled, and sets the time of the next try. The lock is held.
func (p *Pool) fail(s *shelf, err error) {
	s.tries++
	s.trouble, s.again = err.Error(), time.Now().Add(retry.Backoff(s.tries))
	if retry.IsLogged(s.tries) {
		p.options.Log.Warn("a sandbox cannot be made ahead; runs make their own", "outbox", s.outbox, "profile", s.shape.Profile,
			"try", s.tries, "error", err)
	}
}

// The parts of the memory that must stay free.
const (
	fillBelow = 4 // make no sandbox while less than 1/fillBelow is free
	dropBelow = 8 // give up the ready sandboxes while less than 1/dropBelow is free
)

// scarce reports how memory bounds the pool. full: it may make no more sandboxes. over: it must give up those it has.
func (p *Pool) scarce() (full, over bool) {
	if p.options.Memory == nil {
		return false, false
	}
	total, free := p.options.Memory()
	return total > 0 && free < total/fillBelow, total > 0 && free < total/dropBelow
}

// surplus returns a sandbox to drop, or nil: first the sandboxes of closed shelves. Then it takes a sandbox off its
// shelf if the sandbox has ended, is too old or is one too many, if memory is too scarce, or if another outbox is to
// have its place.
func (p *Pool) surplus() *held {
	full, over := p.scarce()
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.left); n > 0 {
		h := p.left[n-1]
		p.left = p.left[:n-1]
		return h
	}
	for _, s := range p.sorted() {
		for i, h := range s.ready {
			ended := h.hasEnded()
			if !ended && !over && now.Sub(h.made) < oldest && len(s.ready) <= s.wants(p.options, now) {
				continue
			}
			s.ready = slices.Delete(s.ready, i, i+1)
			if ended {
				p.fail(s, errors.New("a sandbox ended while it was held"))
			}
			return h
		}
	}
	p.forget(now)
	if full {
		return nil
	}
	return p.giveWay(now)
}

// giveWay takes a sandbox from the outbox with the most, if the pool is full and an outbox with at least two fewer
// wants one. It takes the oldest sandbox on the most recently requested shelf of the larger outbox. So no outbox shuts
// out the others by asking first, and each ends with its share. The lock is held.
func (p *Pool) giveWay(now time.Time) *held {
	s := p.next(now)
	if s == nil || p.ready("") < p.options.Most {
		return nil
	}
	var from *shelf
	for _, other := range p.sorted() {
		if len(other.ready) > 0 && (from == nil || p.ready(other.outbox) > p.ready(from.outbox)) {
			from = other
		}
	}
	if from == nil || p.ready(from.outbox) < p.ready(s.outbox)+2 {
		return nil
	}
	h := from.ready[0]
	from.ready = slices.Delete(from.ready, 0, 1)
	return h
}

// ready returns the number of ready sandboxes of an outbox; "" counts all outboxes. The lock is held.
func (p *Pool) ready(outbox string) (n int) {
	for _, s := range p.shelves {
		if outbox == "" || s.outbox == outbox {
			n += len(s.ready)
		}
	}
	return n
}

// next returns the shelf that gets the next sandbox, before the bounds for the whole pool are checked; nil for none. It
// belongs to the outbox with the fewest ready sandboxes; among its shelves the most recently requested wins. The lock
// is held.
func (p *Pool) next(now time.Time) (chosen *shelf) {
	for _, s := range p.sorted() {
		if len(s.ready) >= s.wants(p.options, now) || now.Before(s.again) {
			continue
		}
		if chosen == nil || p.ready(s.outbox) < p.ready(chosen.outbox) {
			chosen = s
		}
	}
	return chosen
}

// forget removes empty shelves that no request has asked for lately. The lock is held.
func (p *Pool) forget(now time.Time) {
	for key, s := range p.shelves {
		if len(s.ready) == 0 && !s.expected && s.wants(p.options, now) == 0 {
			delete(p.shelves, key)
		}
	}
}

// sorted returns the shelves, the most recently requested first. The lock is held.
func (p *Pool) sorted() (all []*shelf) {
	for _, s := range p.shelves {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *shelf) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.outbox, b.outbox)) })
	return all
}

// lacking returns the shelf that needs a new sandbox now, or nil.
func (p *Pool) lacking() *shelf {
	full, _ := p.scarce()
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || now.Before(p.busy) || p.launching > 0 && now.Before(p.launched.Add(launchTime)) {
		return nil
	}
	var why string
	switch there := p.ready(""); {
	case full:
		why = "less than a quarter of the memory is free"
	case there >= p.options.Most:
		why = fmt.Sprintf("all shelves together have %d sandboxes, the most that they may have", there)
	default:
		return p.next(now)
	}
	for _, s := range p.shelves {
		if len(s.ready) < s.wants(p.options, now) && !now.Before(s.again) {
			s.trouble = why
		}
	}
	return nil
}

// prepare makes a sandbox, starts it, and attests it while it is empty.
func (p *Pool) prepare(ctx context.Context, shape sandbox.Shape) (_ *held, err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	crash.At("pool.prepared")
	handle, err := p.preparer.Prepare(ctx, sandbox.NewSandboxID(), shape)
	if err != nil {
		return nil, err
	}
	h := &held{handle: handle, made: time.Now(), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.drop(ctx, h))
		}
	}()
	crash.At("pool.started")
	if err := p.Launcher.Start(ctx, handle); err != nil {
		return nil, err
	}
	attachment, err := p.Launcher.Open(ctx, handle, "")
	if err != nil {
		return nil, err
	}
	h.attachment = resume(attachment)
	if err := h.attachment.awaitHold(ctx); err != nil {
		return nil, err
	}
	if _, err := p.Attest(ctx, handle); err != nil {
		return nil, err
	}
	crash.At("pool.ready")
	h.weight = p.preparer.Weigh(handle)
	go func() { // ends with the attachment
		h.watch()
		p.stir()
	}()
	return h, nil
}

// drop removes a sandbox where nothing ran.
func (p *Pool) drop(ctx context.Context, h *held) error {
	if h.attachment != nil {
		h.attachment.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	crash.At("pool.dropped")
	if err := p.Launcher.Remove(ctx, h.handle); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		return fmt.Errorf("remove sandbox %s, which was made ahead: %w", h.handle.ID, err)
	}
	return nil
}

// dropLater drops a sandbox in the background, and tries again until that succeeds or ctx is done.
func (p *Pool) dropLater(ctx context.Context, h *held) {
	p.work.Go(func() {
		for try := 1; ; try++ {
			err := p.drop(ctx, h)
			if err == nil {
				return
			}
			if retry.Pause(ctx, retry.Backoff(try)) != nil {
				p.options.Log.Warn("a sandbox is left; the next start removes it", "error", err)
				return
			}
			retry.Warn(p.options.Log, "remove a sandbox that was made ahead", try, err)
		}
	})
}
