package cache

import (
	"context"
)

// Turn gives the caller the turn to fetch a file, or waits for the caller that has it. If mine is true, the caller
// fetches the file, and then calls over, after a failure too. If mine is false, the other fetch has ended and Find may
// have its result, or ctx has ended. ctx needs a deadline, because a child that reads slowly must not hold up others.
func (c *Cache) Turn(ctx context.Context, key Key) (over func(), mine bool) {
	name := key.name()
	c.mu.Lock()
	other, busy := c.turns[name]
	if !busy {
		turn := make(chan struct{})
		c.turns[name] = turn
		c.mu.Unlock()
		return func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.turns, name)
			close(turn)
		}, true
	}
	c.mu.Unlock()
	select {
	case <-other:
	case <-ctx.Done():
	}
	return func() {}, false
}
