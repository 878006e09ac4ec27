package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"torno/manager"
)

// maxKept is how many results stay in the outbox that the client has, so that what their children printed can still be read.
const maxKept = 64

// children is what a server remembers of the children that its clients asked for. The outbox alone is the truth; this says which of
// them are ours, and which results the client has.
type children struct {
	mu    sync.Mutex
	mine  []child // in the order in which they were asked for, or first waited for
	heard int64   // how many requests came
}

// child is one run.
type child struct {
	id, request string
	toldAt      int64 // what heard was when its result went out; 0 before
	others      bool  // another server began it, for a client of its own
}

// noteHeard counts a request: the client lives, and has what went out before.
func (c *children) noteHeard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard++
}

// add remembers a run, in the place of an earlier one of its subagent.
func (c *children) add(run *manager.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(child{id: run.ID(), request: run.RequestID()})
}

func (c *children) put(one child) {
	c.mine = slices.DeleteFunc(c.mine, func(old child) bool { return old.id == one.id })
	c.mine = append(c.mine, one)
}

// told notes that the result of a run goes out, and returns the runs that are too many to keep.
func (c *children) told(id, request string) (tooMany []child) {
	return c.note(child{id: id, request: request})
}

// shown is told for a client that looked at a result without asking for the run: of a run that is not ours the result stays in the outbox.
func (c *children) shown(id, request string) (tooMany []child) {
	return c.note(child{id: id, request: request, others: true})
}

func (c *children) note(one child) (tooMany []child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.mine, func(k child) bool { return k.id == one.id && k.request == one.request })
	if i < 0 {
		c.put(one)
		c.boundOthers()
		i = len(c.mine) - 1
	}
	if c.mine[i].toldAt == 0 {
		c.mine[i].toldAt = c.heard
	}
	delivered := c.delivered(false)
	return delivered[:max(0, len(delivered)-maxKept)]
}

// boundOthers forgets the oldest runs that are not ours.
func (c *children) boundOthers() {
	extra := -maxKept
	for _, one := range c.mine {
		if one.others {
			extra++
		}
	}
	c.mine = slices.DeleteFunc(c.mine, func(one child) bool {
		if one.others {
			extra--
		}
		return one.others && extra >= 0
	})
}

// delivered are the runs of ours whose result the client has: it was heard of since. With orderly the client is leaving by itself, and has
// what went out last too.
func (c *children) delivered(orderly bool) (all []child) {
	for _, one := range c.mine {
		if one.toldAt > 0 && !one.others && (orderly || c.heard > one.toldAt) {
			all = append(all, one)
		}
	}
	return all
}

// deliveredOf is the run of a subagent whose result the client has, ours or not: its place is needed for the next run.
func (c *children) deliveredOf(id string) (child, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.mine, func(one child) bool { return one.id == id && one.toldAt > 0 && c.heard > one.toldAt })
	if i < 0 {
		return child{}, false
	}
	return c.mine[i], true
}

func (c *children) allDelivered(orderly bool) []child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.delivered(orderly)
}

// forget drops a run.
func (c *children) forget(gone child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mine = slices.DeleteFunc(c.mine, func(k child) bool { return k.id == gone.id && k.request == gone.request })
}

// open returns the runs of ours whose result did not go out yet.
func (c *children) open() (all []child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.mine {
		if one.toldAt == 0 {
			all = append(all, one)
		}
	}
	return all
}

// wasTold says whether the result of a run went out already.
func (c *children) wasTold(id, request string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.mine, func(k child) bool { return k.id == id && k.request == request && k.toldAt > 0 })
}

// release takes a result out of the outbox; a copy is kept for a day.
func (s *Server) release(one child) error {
	run, err := s.m.Attach(one.id)
	if err == nil && run.RequestID() == one.request {
		var result manager.Result
		if result, err = ended(run); err == nil {
			err = run.Acknowledge(result)
		}
	}
	s.changed()
	if err == nil || errors.Is(err, manager.ErrNoRun) {
		s.children.forget(one)
		return nil
	}
	return err
}

// ended is the result of a run that is over. While it is not, the error is errNotEnded.
func ended(run *manager.Run) (manager.Result, error) {
	now, cancel := context.WithCancelCause(context.Background())
	cancel(errNotEnded)
	return run.Wait(now)
}

// leave takes the results out of the outbox that the client has. What it was not seen to have stays for the next one.
func (s *Server) leave(orderly bool) error {
	if s.set.leave != nil {
		s.set.leave()
	}
	var errs []error
	for _, one := range s.children.allDelivered(orderly) {
		errs = append(errs, s.release(one))
	}
	return errors.Join(errs...)
}
