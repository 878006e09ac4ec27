package watcher

import (
	"context"
	"sync"

	"torno/delegation"
)

// board keeps the newest status of each run and writes the status files in the background, the newest only: a client
// that looks away misses steps, never the state.
type board struct {
	write func(delegation.SubagentID, delegation.RunStatus)
	wake  chan struct{}

	mu    sync.Mutex
	dirty map[delegation.SubagentID]delegation.RunStatus
}

func newBoard(write func(delegation.SubagentID, delegation.RunStatus)) *board {
	return &board{write: write, wake: make(chan struct{}, 1), dirty: make(map[delegation.SubagentID]delegation.RunStatus)}
}

// set makes status the newest of its subagent.
func (b *board) set(id delegation.SubagentID, status delegation.RunStatus) {
	b.mu.Lock()
	b.dirty[id] = status
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// drop forgets what was not written yet.
func (b *board) drop(id delegation.SubagentID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.dirty, id)
}

// loop writes until ctx is done, and then what is left.
func (b *board) loop(ctx context.Context) {
	for {
		select {
		case <-b.wake:
			b.flush()
		case <-ctx.Done():
			b.flush()
			return
		}
	}
}

func (b *board) flush() {
	b.mu.Lock()
	batch := b.dirty
	b.dirty = make(map[delegation.SubagentID]delegation.RunStatus)
	b.mu.Unlock()
	for id, status := range batch {
		b.write(id, status)
	}
}
