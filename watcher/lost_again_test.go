package watcher

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// losing forgets how its first sandbox ended, and reports that.
type losing struct {
	sandbox.Launcher
	lost atomic.Bool
}

func (l *losing) Open(ctx context.Context, h sandbox.Handle, after sandbox.Cursor) (sandbox.Attachment, error) {
	a, err := l.Launcher.Open(ctx, h, after)
	return &losingAttachment{a, l}, err
}

type losingAttachment struct {
	sandbox.Attachment
	launcher *losing
}

func (a *losingAttachment) Wait(ctx context.Context) (sandbox.Exit, error) {
	exit, err := a.Attachment.Wait(ctx)
	if err == nil && a.launcher.lost.CompareAndSwap(false, true) {
		exit.Unknown, exit.Why = true, "its keeper was killed"
	}
	return exit, err
}

// TestALostRunThatIsToEndIsNotAttemptedAgain: while its sandbox is being removed, a new request takes its place, or the
// operator cancels it.
func TestALostRunThatIsToEndIsNotAttemptedAgain(t *testing.T) {
	for name, end := range map[string]func(d *desk, work *sync.WaitGroup){
		"a new request": func(d *desk, _ *sync.WaitGroup) { d.submit(ask{id: "s1", request: "r2", task: "echo"}) },
		"the operator": func(d *desk, work *sync.WaitGroup) { // who waits for the run's end, and may be told that it had ended
			work.Go(func() { _, _ = d.operator().Cancel(t0(), "s1") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
			d.stop()
			d.wrap = func(l sandbox.Launcher) sandbox.Launcher { return &losing{Launcher: l} }
			d.open()
			tell := d.untilTold()
			first := d.submit(ask{id: "s1", request: "r1", task: "until-told"})
			d.started(first)
			run := d.watcher.runs.Running(d.latest("s1").Key)
			removing, held := make(chan struct{}, 16), make(chan struct{})
			d.world.Before(sandboxtest.OpRemove, func() { removing <- struct{}{}; <-held })
			tell()
			select {
			case <-removing:
			case <-time.After(patience):
				t.Fatal("its sandbox is not removed")
			}
			var work sync.WaitGroup
			end(d, &work)
			d.eventually("the run is asked to end", func() bool { return run.EndAsked() != "" })
			close(held)
			work.Wait()
			if name == "a new request" {
				d.want(d.response(ask{id: "s1", request: "r2"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
			}
			d.eventually("all runs have ended", func() bool {
				all, err := d.journal.List(t0(), journal.Query{})
				d.must(err)
				for _, r := range all {
					if r.State != delegation.StateEnded || !r.Answered {
						return false
					}
					if r.Attempt != 1 {
						t.Errorf("%s has attempt %d", r.Request, r.Attempt)
					}
				}
				return true
			})
			d.empty()
		})
	}
}
