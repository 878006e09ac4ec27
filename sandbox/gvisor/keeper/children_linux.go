package keeper

import (
	"os/exec"
	"sync"
)

// Children are the keepers that this process has started. A keeper outlives the caller that started it, so no caller
// waits for it. It is reaped when its box is locked, because a box can be locked only when its keeper is gone.
type Children struct {
	mu    sync.Mutex
	byBox map[string][]*exec.Cmd
}

func (c *Children) add(box string, keeper *exec.Cmd) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byBox == nil {
		c.byBox = map[string][]*exec.Cmd{}
	}
	c.byBox[box] = append(c.byBox[box], keeper)
}

// pid returns the pid of the keeper that this process has started last for a box, or 0 if it has started none.
func (c *Children) pid(box string) int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.byBox[box]; len(all) > 0 {
		return all[len(all)-1].Process.Pid
	}
	return 0
}

func (c *Children) reap(box string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	keepers := c.byBox[box]
	delete(c.byBox, box)
	c.mu.Unlock()
	for _, keeper := range keepers {
		_ = keeper.Wait() // everything that it had to say is in the box
	}
}
