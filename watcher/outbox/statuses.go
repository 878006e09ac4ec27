package outbox

import (
	"context"
	"sync"
	"time"

	"torno/delegation"
	"torno/watcher/limit"
)

// A status is a courtesy, but each is a file, and a flood of runs could keep a disk busy with files that live for
// milliseconds. Therefore statuses may only use a share of a core. Beyond that, a status is late; if its run ends
// first, it is never written.
const (
	statusShare = 8                      // statuses use at most 1/statusShare of a core
	statusBurst = 100 * time.Millisecond // so much of the share may be saved up, to write a few statuses at once
	boardBehind = 16                     // the board is late if more statuses than this wait
)

// board keeps the newest status of each run and writes the status files in the background. It writes only the newest: a
// client that looks away misses steps, but never the present state. Runs that move go first, then runs that wait in a
// queue.
type board struct {
	write func(*Admission, delegation.RunStatus)
	wake  chan struct{}

	mu             sync.Mutex
	newest         map[*Admission]delegation.RunStatus // not written yet
	moved, waiting []*Admission                        // in the order of writing; a run that has left newest is skipped
	shown          map[*Admission]bool                 // unfinished runs that have a status file
}

func newBoard(write func(*Admission, delegation.RunStatus)) *board {
	return &board{
		write: write, wake: make(chan struct{}, 1),
		newest: make(map[*Admission]delegation.RunStatus), shown: make(map[*Admission]bool),
	}
}

// set makes status the newest of a run.
func (b *board) set(r *Admission, status delegation.RunStatus) {
	b.mu.Lock()
	before, known := b.newest[r]
	b.newest[r] = status
	switch waits := status.State == delegation.StateQueued; {
	case waits && !known:
		b.waiting = append(b.waiting, r)
	case !waits && (!known || before.State == delegation.StateQueued):
		b.moved = append(b.moved, r)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// loop writes statuses until ctx is done, and then those that are left.
func (b *board) loop(ctx context.Context) {
	share := limit.Share{Of: statusShare, Burst: statusBurst, Longest: limit.LongestRest}
	for {
		r, status, found := b.next()
		switch {
		case found:
			begin := time.Now()
			b.write(r, status)
			share.Pause(ctx, time.Since(begin))
		case ctx.Err() != nil:
			return
		default:
			select {
			case <-b.wake:
			case <-ctx.Done():
			}
		}
	}
}

// next takes the next status to write. If the board is late, it skips an ended run without a status file: that run has
// a response.
func (b *board) next() (*Admission, delegation.RunStatus, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		r, found := b.turn()
		if !found {
			return nil, delegation.RunStatus{}, false
		}
		status, known := b.newest[r]
		if !known {
			continue
		}
		late := len(b.newest) > boardBehind
		delete(b.newest, r)
		over, shown := status.State == delegation.StateEnded, b.shown[r]
		b.shown[r] = true
		if over {
			delete(b.shown, r)
		}
		if !over || shown || !late {
			return r, status, true
		}
	}
}

// turn takes the next run in line.
func (b *board) turn() (r *Admission, found bool) {
	from := &b.moved
	if len(*from) == 0 {
		from = &b.waiting
	}
	if len(*from) == 0 {
		b.moved, b.waiting = nil, nil // frees the memory that the slices hold
		return nil, false
	}
	r, *from = (*from)[0], (*from)[1:]
	return r, true
}
