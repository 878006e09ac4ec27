package manager

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// TestANewRequestIsNotTakenAlong: two clients take one result. One of them asks at once for the subagent's next run, while the other is
// about to remove the files of the last one.
func TestANewRequestIsNotTakenAlong(t *testing.T) {
	h := newHost(t)
	here, there := h.client(Options{}), h.client(Options{})
	for i := range 300 {
		id := fmt.Sprint("s", i)
		run := h.spawn(here, SpawnOptions{ID: id})
		h.respond(run)
		result := must(run.Wait(t.Context()))
		other := must(there.Attach(id))
		var taking sync.WaitGroup
		taking.Go(func() { must(0, run.Acknowledge(result)) })
		if err := other.Acknowledge(result); err != nil {
			t.Fatal(err)
		}
		var next *Run
		err := ErrOutstanding
		for errors.Is(err, ErrOutstanding) { // as long as the other client has not removed the last request
			next, err = there.Spawn(t.Context(), SpawnOptions{ID: id, Task: "again"})
		}
		taking.Wait()
		if err != nil || next.checkCurrent() != nil {
			t.Fatalf("run %d: %v, %v", i, err, next.checkCurrent())
		}
	}
}
