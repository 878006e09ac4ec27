package outbox

import (
	"context"
	"sync"
	"time"

	"torno/delegation"
	"torno/watcher/limit"
)

// A status is a courtesy and a file of its own, so that a flood of runs could keep a disk busy with files that live for
// milliseconds. What statuses may cost is a share of a core; what does not fit is late, or is never written because the
// run is over.
const (
	statusShare = 8                      // they cost at most 1/statusShare of a core
	statusBurst = 100 * time.Millisecond // of that share may be saved up: a few statuses are written at once
	boardBehind = 16                     // runs whose statuses wait make the board late
)

// board keeps the newest status of each run and writes the status files in the background, the newest only: a client
// that looks away misses steps, never the state. Runs that move go first, runs that wait in a queue after them.
type board struct {
	write func(*Admission, delegation.RunStatus)
	wake  chan struct{}

	mu             sync.Mutex
	newest         map[*Admission]delegation.RunStatus // not written yet
	moved, waiting []*Admission                        // whose turn it is; a run that is not in newest any more is passed over
	shown          map[*Admission]bool                 // runs that are not over and of which there is a status
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

// loop writes until ctx is done, and then what is left.
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

// next takes the status that is to be written now. Where the board is late, a run that is over before anybody saw a
// status of it needs none: it has a response.
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

// turn takes the run whose turn it is.
func (b *board) turn() (r *Admission, found bool) {
	from := &b.moved
	if len(*from) == 0 {
		from = &b.waiting
	}
	if len(*from) == 0 {
		b.moved, b.waiting = nil, nil // lets go of what the slices hold
		return nil, false
	}
	r, *from = (*from)[0], (*from)[1:]
	return r, true
}
