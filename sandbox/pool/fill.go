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
	lookEvery   = time.Second           // at shelves that change with time
	launchTime  = 2 * time.Second       // of a run that makes its own; one that hangs keeps no other run from finding a sandbox ready
	startTime   = 50 * time.Millisecond // from a claim to the agent, on a machine that has nothing else to do
	prepareTime = time.Minute           // for one sandbox
	dropTime    = 30 * time.Second      // to remove one
	oldest      = runfile.HoldTime / 2  // that one gets; an init ends its hold by itself
)

// Run fills and empties the shelves until ctx is done. A request never waits for it: it makes one sandbox at a time, and begins
// with none while a run makes one.
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

// soon is when the shelves are to be looked at again although nothing has happened; nil for never.
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

// Close removes what is ready, as far as there is time. From now on nothing is claimed. Run must have returned, and no run makes sandboxes.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	left := p.left
	p.left = nil
	for _, s := range p.shelves {
		left = append(left, s.ready...)
		s.ready = nil
	}
	for _, h := range p.claimed { // by a run that was left to the next watcher before it brought anything in
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

// atOnce is how many sandboxes are removed at the same time when the pool is closed.
const atOnce = 8

// step drops or makes one sandbox, and says whether there was one to drop or to make.
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

// fail notes that a shelf could not be filled, and when that is tried again. The lock is held.
func (p *Pool) fail(s *shelf, err error) {
	s.tries++
	s.trouble, s.again = err.Error(), time.Now().Add(retry.Backoff(s.tries))
	if retry.IsLogged(s.tries) {
		p.options.Log.Warn("a sandbox cannot be made ahead; runs make their own", "outbox", s.outbox, "profile", s.shape.Profile,
			"try", s.tries, "error", err)
	}
}

// The memory that stays free.
const (
	fillBelow = 4 // nothing is made where less than one in so many parts is free
	dropBelow = 8 // and where less than one in so many is, what is there is given up
)

// scarce says whether memory bounds the pool: to what it has, and to less than that.
func (p *Pool) scarce() (full, over bool) {
	if p.options.Memory == nil {
		return false, false
	}
	total, free := p.options.Memory()
	return total > 0 && free < total/fillBelow, total > 0 && free < total/dropBelow
}

// surplus takes a sandbox whose shelf was closed, or takes one off its shelf that has ended, that is too old, that is one too many, or that
// another outbox is to have.
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
				p.fail(s, errors.New("a sandbox ended in its hold"))
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

// giveWay takes the oldest sandbox of the outbox that has most, where there may be no more of them and another outbox, which wants one,
// has two fewer. So no outbox keeps those of the others away by asking first, and each ends with its share. The lock is held.
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

// ready is how many sandboxes an outbox has ready, or all outboxes together, by "". The lock is held.
func (p *Pool) ready(outbox string) (n int) {
	for _, s := range p.shelves {
		if outbox == "" || s.outbox == outbox {
			n += len(s.ready)
		}
	}
	return n
}

// next is the shelf that is to get a sandbox next, as far as the sandboxes of others do not count; nil for none. It is one of the outbox that
// has fewest, and among those the one that was asked for last. The lock is held.
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

// forget closes shelves that nobody has asked for. The lock is held.
func (p *Pool) forget(now time.Time) {
	for key, s := range p.shelves {
		if len(s.ready) == 0 && !s.expected && s.wants(p.options, now) == 0 {
			delete(p.shelves, key)
		}
	}
}

// sorted are the shelves, the one first that was asked for last. The lock is held.
func (p *Pool) sorted() (all []*shelf) {
	for _, s := range p.shelves {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *shelf) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.outbox, b.outbox)) })
	return all
}

// lacking is a shelf for which a sandbox is to be made now, or nil.
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
		why = fmt.Sprintf("all shelves together have %d, and may have no more", there)
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

// prepare makes a sandbox, begins it, and looks at it while it is empty.
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
	go func() { // it ends with the attachment
		h.watch()
		p.stir()
	}()
	return h, nil
}

// drop removes a sandbox in which nothing ran.
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

// dropLater is drop, again and again until ctx is done.
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
