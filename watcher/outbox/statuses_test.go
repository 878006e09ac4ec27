package outbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
)

// poster is a board whose files take a while.
type poster struct {
	board   *board
	took    time.Duration
	written []delegation.State
	by      map[*Admission]delegation.State
}

func newPoster(took time.Duration) *poster {
	p := &poster{took: took, by: make(map[*Admission]delegation.State)}
	p.board = newBoard(func(r *Admission, s delegation.RunStatus) {
		time.Sleep(p.took)
		p.written = append(p.written, s.State)
		p.by[r] = s.State
	})
	return p
}

func (p *poster) set(r *Admission, state delegation.State) {
	p.board.set(r, delegation.RunStatus{State: state})
}

// post runs the board until it has nothing to do, or for as long as is given.
func (p *poster) post(t *testing.T, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	go p.board.loop(ctx)
	time.Sleep(long + time.Second)
	synctest.Wait()
}

func TestOneRunIsShownAtEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := newPoster(time.Millisecond), new(Admission)
		ctx, cancel := context.WithCancel(t.Context())
		go p.board.loop(ctx)
		steps := []delegation.State{delegation.StateQueued, delegation.StateStarting, delegation.StateRunning, delegation.StateEnded}
		for _, state := range steps {
			p.set(r, state)
			time.Sleep(2 * time.Millisecond)
		}
		cancel()
		synctest.Wait()
		if !slices.Equal(p.written, steps) || len(p.board.shown) != 0 {
			t.Errorf("%v was written, %d runs are remembered", p.written, len(p.board.shown))
		}
	})
}

// TestAFloodIsNotShownInFull: statuses get their share of a core and no more. Without it all of them would be written.
func TestAFloodIsNotShownInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPoster(time.Millisecond)
		for range 2000 {
			p.set(new(Admission), delegation.StateQueued)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.board.loop(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(p.written); n < 100 || n > 150 {
			t.Errorf("%d statuses of a millisecond each in a second", n)
		}
		cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.written) != 2000 {
			t.Errorf("%d statuses were written in the end", len(p.written))
		}
	})
}

func TestRunsThatMoveGoBeforeThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, moves := newPoster(time.Millisecond), new(Admission)
		for range 100 {
			p.set(new(Admission), delegation.StateQueued)
		}
		p.set(moves, delegation.StateQueued)
		p.set(moves, delegation.StateRunning)
		p.post(t, time.Minute)
		if p.written[0] != delegation.StateRunning || len(p.written) != 101 {
			t.Errorf("%v first, %d in all", p.written[0], len(p.written))
		}
	})
}

// TestALateBoardSkipsWhatIsOver: a run whose status was never shown needs none when it is over; a run whose status was shown needs one.
func TestALateBoardSkipsWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, shown, unseen := newPoster(0), new(Admission), new(Admission)
		p.set(shown, delegation.StateRunning)
		p.post(t, time.Second)
		for range 2 * boardBehind {
			p.set(new(Admission), delegation.StateQueued)
		}
		p.set(shown, delegation.StateEnded)
		p.set(unseen, delegation.StateRunning)
		p.set(unseen, delegation.StateEnded)
		p.post(t, time.Minute)
		if _, written := p.by[unseen]; written || p.by[shown] != delegation.StateEnded {
			t.Errorf("the unseen one was written: %v; the other one is %s", written, p.by[shown])
		}
		if len(p.board.newest) != 0 {
			t.Errorf("%d runs are remembered", len(p.board.newest))
		}
	})
}
