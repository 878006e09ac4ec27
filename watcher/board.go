package watcher

import (
	"context"
	"sync"

	"torno/delegation"
)

// board keeps the newest status of each run and writes the status files in the background, the newest only: a client
// that looks away misses steps, never the state.
type board struct {
	write func(*run, delegation.RunStatus)
	wake  chan struct{}

	mu    sync.Mutex
	dirty map[*run]delegation.RunStatus
}

func newBoard(write func(*run, delegation.RunStatus)) *board {
	return &board{write: write, wake: make(chan struct{}, 1), dirty: make(map[*run]delegation.RunStatus)}
}

// set makes status the newest of a run.
func (b *board) set(r *run, status delegation.RunStatus) {
	b.mu.Lock()
	b.dirty[r] = status
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
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
	b.dirty = make(map[*run]delegation.RunStatus)
	b.mu.Unlock()
	for r, status := range batch {
		b.write(r, status)
	}
}
