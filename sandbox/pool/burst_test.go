package pool_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// TestABurst: ten times as many runs as sandboxes do not wait: what is there is used, and the others make theirs.
func TestABurst(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		found := 0
		for i := range 20 {
			spec := s.spec(fmt.Sprint(i))
			id := s.Claim("o", spec)
			if id != "" {
				found++
			} else {
				id = sandbox.NewSandboxID()
			}
			if said := s.carries(id, spec); said != fmt.Sprintln(i) {
				t.Errorf("run %d said %q", i, said)
			}
		}
		if found != 2 {
			t.Errorf("%d runs found a sandbox ready", found)
		}
	})
}

// TestABurstWaitsForNothing: ten times as many runs as sandboxes come at once, while the pool's own work hangs. What was ready is used, all
// others make theirs without a word from the pool, and every one of them ends while the pool still hangs.
func TestABurstWaitsForNothing(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		goOn := make(chan struct{})
		s.world.Before(sandboxtest.OpPrepare, func() { <-goOn })
		found := 0
		var runs sync.WaitGroup
		for i := range 10 * usual.Size {
			spec := s.spec(fmt.Sprint(i))
			id := s.Claim("o", spec)
			if id == "" {
				id = sandbox.NewSandboxID()
			} else {
				found++
			}
			runs.Go(func() {
				if said := s.carries(id, spec); said != fmt.Sprintln(i) {
					t.Errorf("run %d said %q", i, said)
				}
			})
			if i == usual.Size {
				s.later(launching) // the pool begins to make one, and hangs
			}
		}
		runs.Wait()
		if n := s.world.Calls(sandboxtest.OpPrepare); found != usual.Size || n != usual.Size+1 {
			t.Errorf("%d runs found a sandbox ready, and the pool began to make %d", found, n)
		}
		close(goOn)
	})
}

// launching is longer than the pool waits for runs that are on their way.
const launching = 3 * time.Second
