package cache

import (
	"context"
	"time"
)

// Turn gives the caller the turn to fetch a file, or waits for the caller that has it. If mine is true, the caller
// fetches the file, and then calls over, after a failure too. If mine is false, the other fetch has ended and Find may
// have its result, or ctx has ended, or patience is over. Patience is there because a child that reads slowly must not
// hold up others.
func (c *Cache) Turn(ctx context.Context, key Key, patience time.Duration) (over func(), mine bool) {
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
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-other:
	case <-waiting.Done():
	}
	return func() {}, false
}
