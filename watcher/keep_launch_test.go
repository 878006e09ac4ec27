package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

var errCut = errors.New("the call was cut off")

// callsOfALaunch are the calls of a launch, in their order.
var callsOfALaunch = []sandboxtest.Op{sandboxtest.OpCreate, sandboxtest.OpStart, sandboxtest.OpOpen, sandboxtest.OpAttest, sandboxtest.OpRelease}

// cuts are the ways in which a call can end that was under way when the watcher was told to stop.
var cuts = map[string]func(*sandboxtest.World, sandboxtest.Op){
	"it gets done":               func(*sandboxtest.World, sandboxtest.Op) {},
	"it is cut off":              func(w *sandboxtest.World, op sandboxtest.Op) { w.Fail(op, 1, errCut) },
	"it is done, and cut off":    func(w *sandboxtest.World, op sandboxtest.Op) { w.FailAfter(op, 1, errCut) },
	"the launcher has gone away": func(w *sandboxtest.World, op sandboxtest.Op) { w.Fail(op, 1, sandbox.ErrUnavailable) },
}

// launching has a watcher come as far as a call of a launch, which ends in some way once until is closed.
func (d *desk) launching(op sandboxtest.Op, cut func(*sandboxtest.World, sandboxtest.Op), until <-chan struct{}) ask {
	d.Helper()
	cut(d.world, op)
	reached := make(chan struct{}, 1)
	d.world.Before(op, func() {
		select {
		case reached <- struct{}{}:
		default:
		}
		<-until
	})
	a := d.submit(ask{id: "s1", task: "echo hello"})
	<-reached
	return a
}

// TestALaunchThatIsCutOffIsKept: a watcher that is to keep its runs is told to stop while a call of a launch is under way. It answers
// nothing and removes nothing that was released, and the next one completes the run in the same attempt.
func TestALaunchThatIsCutOffIsKept(t *testing.T) {
	for _, op := range callsOfALaunch {
		for name, cut := range cuts {
			t.Run(string(op)+", "+name, func(t *testing.T) {
				d := newDesk(t, func(c *Config) { c.Shutdown.Keep = true })
				a := d.launching(op, cut, d.watcher.life.Done())
				d.stop()
				if _, err := os.Stat(filepath.Join(d.outbox, "response_s1.json")); err == nil {
					t.Error("it was answered: ", d.text("response_s1.json"))
				}
				j := d.openJournal()
				record, _, err := j.Latest(t0(), d.boxIn(j, "main"), mustID(d, "s1"))
				d.must(errors.Join(err, j.Close()))
				released := !record.Released.IsZero()
				if record.State == delegation.StateEnded {
					t.Errorf("it has ended: %+v", record)
				}
				if left, err := d.fake.List(t0()); released && (err != nil || len(left) != 1) {
					t.Errorf("what was released is gone: %v, %v", left, err)
				}
				ran := len(d.world.Released())
				d.world.Before(op, nil)
				d.open()
				resp := d.response(a)
				if released && ran == 0 { // the word was cut off
					d.want(resp, delegation.StatusError, delegation.ReasonLost, -1)
				} else {
					d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
				}
				if after := d.ended(a); resp.Attempt != 1 || released && after.Sandbox != record.Sandbox {
					t.Errorf("attempt %d, in %s and not in %s", resp.Attempt, after.Sandbox, record.Sandbox)
				}
				d.onceEach()
				d.empty()
			})
		}
	}
}

// TestALaunchThatIsCutOffIsAnswered where runs are not kept: as ended by the shutdown, and with no process left.
func TestALaunchThatIsCutOffIsAnswered(t *testing.T) {
	for _, op := range callsOfALaunch {
		for name, cut := range cuts {
			t.Run(string(op)+", "+name, func(t *testing.T) {
				d := newDesk(t, nil)
				told := make(chan struct{})
				a := d.launching(op, cut, told)
				r := d.watcher.runs.Running(d.latest("s1").Key)
				go func() { <-r.Ending(); close(told) }()
				d.stop()
				resp := d.response(a)
				if op != sandboxtest.OpRelease || resp.Reason != delegation.ReasonExited { // it may have ended by itself meanwhile
					d.want(resp, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
				}
				d.empty()
			})
		}
	}
}

// TestNoAnswerWhileAChildMayLive: the word is given and the call fails, while somebody cancels.
func TestNoAnswerWhileAChildMayLive(t *testing.T) {
	d := newDesk(t, nil)
	told := make(chan struct{})
	d.world.Register("echo", gated(make(chan struct{}))) // it does not end by itself
	a := d.launching(sandboxtest.OpRelease, cuts["it is done, and cut off"], told)
	removing, remove := make(chan struct{}), make(chan struct{})
	d.world.Before(sandboxtest.OpRemove, func() { close(removing); <-remove })
	d.touch("cancel_s1")
	r := d.watcher.runs.Running(d.latest("s1").Key)
	<-r.Ending()
	close(told)
	<-removing
	answered := d.exists("response_s1.json")
	d.world.Before(sandboxtest.OpRemove, nil)
	close(remove)
	if answered {
		t.Error("it is answered while its child lives")
	}
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
}
