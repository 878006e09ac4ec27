package manager

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"torno/delegation"
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

// TestTwoAskForTheSameSubagent: a client removes nothing of an earlier run while another one asks for the next, because
// what it has seen may be replaced meanwhile.
func TestTwoAskForTheSameSubagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		here, there := h.client(Options{}), h.client(Options{})
		must(0, must(here.makeTaken()).Close())
		late := delegation.ResponseName(must(delegation.ParseSubagentID("s")))
		h.publish(late, []byte("of an earlier run"))
		var asked sync.WaitGroup
		must(0, here.alone(func() error {
			asked.Go(func() { h.spawn(there, SpawnOptions{ID: "s"}) })
			synctest.Wait()
			_, err := h.dir.Stat(late)
			return err
		}))
		asked.Wait()
	})
}
