package mcp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"torno/manager"
)

// maxKept bounds how many results stay in the outbox after the client has them. As long as they stay, the output of
// their children can still be read.
const maxKept = 64

// children remembers the children that the server's clients asked for. Only the outbox holds the truth. children only
// adds which runs are ours, and which results the client has.
type children struct {
	mu    sync.Mutex
	mine  []child          // in the order of asking, or of the first wait
	heard map[string]int64 // by session: how many requests have come
}

// child is one run.
type child struct {
	id, request string
	told        map[string]int64 // by session to which the result went out: the value of heard at that time
	has         bool             // a session that has ended had the result
	others      bool             // another server began it, for a client of its own
}

// noteHeard counts a request. A request proves that its client lives and has received the answers to its earlier ones,
// except of calls that it has cancelled.
func (c *children) noteHeard(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard == nil {
		c.heard = map[string]int64{}
	}
	c.heard[session]++
}

// noteCancelled forgets what went out since the client's last request: the client may have dropped it together with the
// call that it gives up. It goes out again.
func (c *children) noteCancelled(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.mine {
		if at, told := one.told[session]; told && at == c.heard[session] {
			delete(one.told, session)
		}
	}
}

// forgetSessions forgets the sessions that have ended. A result that went out to one of them counts as told only if the
// client sent a request afterwards. If no client did, it goes out again, to the next client that waits.
func (c *children) forgetSessions(lives func(session string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.mine {
		one := &c.mine[i]
		one.has = c.clientHas(*one)
		maps.DeleteFunc(one.told, func(session string, _ int64) bool { return !lives(session) })
	}
	c.mine = slices.DeleteFunc(c.mine, func(one child) bool { return one.others && !one.wasTold() })
	maps.DeleteFunc(c.heard, func(session string, _ int64) bool { return !lives(session) })
}

// wasTold reports whether the result has gone out.
func (one child) wasTold() bool { return one.has || len(one.told) > 0 }

// clientHas reports whether a client has a result: it has sent a request since the result went out to it.
func (c *children) clientHas(one child) bool {
	for session, at := range one.told {
		if c.heard[session] > at {
			return true
		}
	}
	return one.has
}

// add remembers a run. It replaces an earlier run of the same subagent.
func (c *children) add(run *manager.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(child{id: run.ID(), request: run.RequestID(), told: map[string]int64{}})
}

func (c *children) put(one child) {
	c.mine = slices.DeleteFunc(c.mine, func(old child) bool { return old.id == one.id })
	c.mine = append(c.mine, one)
}

// told notes that the result of a run goes out to a session. It returns the runs that are too many to keep.
func (c *children) told(session, id, request string) (tooMany []child) {
	return c.note(session, child{id: id, request: request})
}

// shown does the same as told for a client that looked at a result without asking for the run. If the run is not ours,
// its result stays in the outbox.
func (c *children) shown(session, id, request string) (tooMany []child) {
	return c.note(session, child{id: id, request: request, others: true})
}

func (c *children) note(session string, one child) (tooMany []child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.mine, func(k child) bool { return k.id == one.id && k.request == one.request })
	if i < 0 {
		one.told = map[string]int64{}
		c.put(one)
		c.boundOthers()
		i = len(c.mine) - 1
	}
	if _, before := c.mine[i].told[session]; !before {
		c.mine[i].told[session] = c.heard[session]
	}
	delivered := c.delivered(false)
	return delivered[:max(0, len(delivered)-maxKept)]
}

// boundOthers keeps at most maxKept runs that are not ours, and forgets the oldest.
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

// delivered returns our runs whose result a client has. With orderly the client is leaving by itself, so it also has the
// last results.
func (c *children) delivered(orderly bool) (all []child) {
	for _, one := range c.mine {
		if one.wasTold() && !one.others && (orderly || c.clientHas(one)) {
			all = append(all, one)
		}
	}
	return all
}

// deliveredOf returns the run of a subagent whose result the client has, ours or not. Its place is needed for the next
// run.
func (c *children) deliveredOf(id string) (child, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.mine, func(one child) bool { return one.id == id && c.clientHas(one) })
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

// open returns our runs whose result has not gone out yet.
func (c *children) open() (all []child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.mine {
		if !one.wasTold() {
			all = append(all, one)
		}
	}
	return all
}

// wasTold reports whether the result of a run has already gone out.
func (c *children) wasTold(id, request string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.mine, func(k child) bool { return k.id == id && k.request == request && k.wasTold() })
}

// release takes a result out of the outbox. A copy is kept for a day.
func (s *Server) release(one child) error {
	return s.take(one, func(r manager.Result) manager.Result { return r })
}

func (s *Server) take(one child, as func(manager.Result) manager.Result) error {
	run, err := s.m.Attach(one.id)
	if err == nil && run.RequestID() == one.request {
		var result manager.Result
		if result, err = ended(run); err == nil {
			err = run.Acknowledge(as(result))
		}
	}
	s.changed()
	if err == nil || errors.Is(err, manager.ErrNoRun) {
		s.children.forget(one)
		return nil
	}
	return err
}

// ended returns the result of a run that is over. If the run is not over, the error is errNotEnded.
func ended(run *manager.Run) (manager.Result, error) {
	now, cancel := context.WithCancelCause(context.Background())
	cancel(errNotEnded)
	return run.Wait(now)
}

// leave takes the results that the client has out of the outbox. Other results stay for the next client.
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
