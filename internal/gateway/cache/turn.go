package cache

import (
	"context"
	"time"
)

// Turn waits for another fetch of the same file. With mine the caller is to fetch it, and to call over when it has, or has failed. Without,
// another fetch has ended meanwhile, and Find may have its result, or ctx has ended, or it took too long: a child that reads slowly holds no
// other up.
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
