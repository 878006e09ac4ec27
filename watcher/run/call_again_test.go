package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
)

// errGone is of a site that is not there.
var errGone = fmt.Errorf("gone: %w", sandbox.ErrUnavailable)

// TestWaitingGetsSlower: hours of an outage cost a few calls a minute, never in step, and the news comes once.
func TestWaitingGetsSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := runsOf(t)
		r := &Run{request: Request{Outbox: "main"}}
		r.ending, r.stop = context.WithCancelCause(t.Context())
		calls, over := 0, time.Now().Add(time.Hour)
		var pauses []time.Duration
		last := time.Now()
		_, err := retryLaunch(runs.calls, r, launchStep[struct{}]{what: "try", budget: time.Minute, call: func(context.Context) (nothing struct{}, err error) {
			calls++
			pauses, last = append(pauses, time.Since(last)), time.Now()
			if time.Now().After(over) {
				return nothing, nil
			}
			return nothing, errGone
		}})
		if err != nil || calls < 360 || calls > 800 {
			t.Errorf("%d calls in an hour, %v", calls, err)
		}
		if slices.Max(pauses) > retry.LastBackoff || pauses[100] == pauses[101] && pauses[101] == pauses[102] {
			t.Errorf("pauses %v", pauses[:103])
		}
	})
}

// TestASlowCallIsSaid although it has not failed, and not any more when it is done.
func TestASlowCallIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := runsOf(t)
		held := runs.Notices.Flag("")
		err := runs.calls.once(held, func(ctx context.Context) error {
			time.Sleep(slowCall + time.Second)
			if len(runs.Notices.Of("main")) != 1 {
				t.Error("a slow call is not said")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		held.Close()
		held.Raise(delegation.NoticeLauncher, errSlow) // too late
		if n := runs.Notices.Of("main"); len(n) != 0 {
			t.Errorf("it is still said: %v", n)
		}
	})
}

func TestWhatTheJournalIsSureOfIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := runsOf(t)
		for _, c := range []struct {
			err   error
			tries int
		}{{journal.ErrMoved, 1}, {journal.ErrClosed, 1}, {errors.New("the disk is full"), 3}} {
			tries := 0
			err := runs.calls.record(t.Context(), "note", func() error {
				if tries++; tries == 3 {
					return nil
				}
				return c.err
			})
			if tries != c.tries || (err == nil) != (c.tries == 3) {
				t.Errorf("%v: %d tries, %v", c.err, tries, err)
			}
		}
	})
}

// TestACallThatNeverReturnsEndsItsRun, although no client cancels: the run has failed when its time, and the grace for it, are over.
func TestACallThatNeverReturnsEndsItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := runsOf(t)
		r := &runner{Run: &Run{runs: runs, request: Request{Outbox: "main"}}, handle: sandbox.Handle{ID: "box-1"}}
		r.ending, r.stop = context.WithCancelCause(t.Context())
		let, late, begin := make(chan struct{}), make(chan int, 1), time.Now()
		_, err := retryLaunch(runs.calls, r.Run, launchStep[int]{
			what: "try", budget: time.Minute,
			call: func(context.Context) (int, error) { <-let; return 7, nil },
			late: func(n int, _ error) { late <- n },
		})
		if took := time.Since(begin); !errors.Is(err, errLeftCall) || took != time.Minute+runs.Timing.Grace {
			t.Errorf("after %s: %v", took, err)
		}
		v := r.gaveUpCall("try").verdict
		if v.reason != delegation.ReasonLaunchFailed || !strings.Contains(v.refusal.Text, errLeftCall.Error()) || r.handle.ID != "" {
			t.Errorf("the verdict is %+v, with the sandbox %q", v, r.handle.ID)
		}
		close(let)
		if n := <-late; n != 7 {
			t.Errorf("it returned %d", n)
		}
		synctest.Wait()
		if runs.Hung() != 0 || len(runs.Notices.Of("main")) != 0 {
			t.Errorf("%d calls are left, and clients are told %v", runs.Hung(), runs.Notices.Of("main"))
		}
	})
}
