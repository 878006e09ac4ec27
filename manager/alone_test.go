package manager

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
)

// TestOneClientAtATime: while a client has the outbox to itself, the others wait, and change nothing in it.
func TestOneClientAtATime(t *testing.T) {
	for name, act := range map[string]func(*Manager, *Run, Result) error{
		"take":     func(_ *Manager, run *Run, result Result) error { return run.Acknowledge(result) },
		"withdraw": func(_ *Manager, run *Run, _ Result) error { return run.Withdraw() },
		"cancel":   func(_ *Manager, run *Run, _ Result) error { return run.Cancel(t.Context()) },
		"replace": func(m *Manager, _ *Run, _ Result) error {
			_, err := m.Spawn(t.Context(), SpawnOptions{ID: "s", Task: "again", Replace: true})
			return err
		},
		"spawn": func(m *Manager, _ *Run, _ Result) error {
			_, err := m.Spawn(t.Context(), SpawnOptions{ID: "other", Task: "true"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				here, there := h.client(Options{}), h.client(Options{})
				run := h.spawn(there, SpawnOptions{ID: "s"})
				h.respond(run)
				result := must(run.Wait(t.Context()))
				h.publish(delegation.ResponseName(must(delegation.ParseSubagentID("other"))), []byte("of an earlier run"))
				var acting sync.WaitGroup
				must(0, here.alone(func() error {
					before := h.names()
					acting.Go(func() { must(0, act(there, run, result)) })
					synctest.Wait()
					if after := h.names(); !slices.Equal(after, before) {
						t.Errorf("the outbox had %q, and has %q", before, after)
					}
					return nil
				}))
				acting.Wait()
			})
		})
	}
}

// TestARequestWaitsForTheOtherClient that begins to take a result while the workspace is made.
func TestARequestWaitsForTheOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		here, there := h.client(Options{}), h.client(Options{})
		var unlock func()
		made := func(string) (err error) { unlock, err = here.lock(); return err }
		var asking sync.WaitGroup
		asking.Go(func() { h.spawn(there, SpawnOptions{ID: "s", Made: made}) })
		synctest.Wait()
		if names := h.names(); len(names) > 0 {
			t.Errorf("the outbox has %q", names)
		}
		unlock()
		asking.Wait()
	})
}

// TestARequestOfTheNextRunStays: between a client's look at its request and its removal, another client asks for the next
// run of the subagent.
func TestARequestOfTheNextRunStays(t *testing.T) {
	for name, act := range map[string]func(*Run, Result) error{
		"take": func(run *Run, result Result) error { return run.Acknowledge(result) },
		"withdraw": func(run *Run, _ Result) error {
			if err := run.Withdraw(); !errors.Is(err, ErrSuperseded) {
				return errors.Join(errors.New("the request of the next run was withdrawn"), err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				here, there, unlocked := h.client(Options{}), h.client(Options{}), h.client(Options{})
				unlocked.impatient.Store(true)
				run := h.spawn(there, SpawnOptions{ID: "s"})
				h.respond(run)
				result := must(run.Wait(t.Context()))
				var acting sync.WaitGroup
				var next *Run
				must(0, here.alone(func() error {
					acting.Go(func() { must(0, act(run, result)) })
					synctest.Wait()
					next = h.spawn(unlocked, SpawnOptions{ID: "s", Task: "again", Replace: true})
					h.respond(next)
					return nil
				}))
				acting.Wait()
				must(next.Wait(t.Context()))
			})
		})
	}
}

// TestAClientThatStandsStillHoldsUpNoOther for longer than two seconds in all.
func TestAClientThatStandsStillHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		here, there := h.client(Options{}), h.client(Options{})
		must(0, here.alone(func() error {
			begin := time.Now()
			for range 3 {
				must(0, h.spawn(there, SpawnOptions{}).Withdraw())
			}
			if took := time.Since(begin); took < mostAlone || took > mostAlone+time.Second {
				t.Errorf("the other client waited %s", took)
			}
			return nil
		}))
	})
}
