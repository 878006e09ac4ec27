package watcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/watcher/outbox"
)

// leaveAway starts the desk's watcher with the name of the outbox leading elsewhere, and another outbox that may have the same workspaces.
func (d *desk) leaveAway() (second string) {
	d.Helper()
	second = d.newOutbox("second")
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".real"), os.MkdirAll(filepath.Join(d.outbox, "workspaces"), 0o755)))
	d.lead("main", d.outbox)
	settings := d.settings("second", second)
	settings.Policy.Allow = append(settings.Policy.Allow, compile.Root(filepath.Join(d.outbox+".real", "workspaces")))
	d.config.Outboxes = append(d.config.Outboxes, settings)
	d.open()
	return second
}

// comeBack starts it with the right directory.
func (d *desk) comeBack() {
	d.Helper()
	d.pause()
	d.must(errors.Join(os.Rename(d.outbox, d.outbox+".wrong"), os.Rename(d.outbox+".real", d.outbox)))
	d.lead("main", d.outbox)
	d.open()
}

// TestAnOperatorEndsARunThatIsLeftAside: its sandbox is gone when he is told, its workspace is free, and its client is answered when the directory
// of the outbox is back.
func TestAnOperatorEndsARunThatIsLeftAside(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	waiting := d.submit(ask{id: "waiting", task: "echo never"})
	d.eventually("the other one waits", func() bool { return d.exists("status_waiting.json") })
	d.pause()
	second := d.leaveAway()
	in := filepath.Join(d.outbox+".real", "workspaces", "running")
	d.isBusy(second, in)
	for _, id := range []string{"running", "waiting"} {
		if run, err := d.operator().Run(t0(), id); err != nil || !strings.Contains(run.Unserved, "the directory of its outbox is not there") {
			t.Errorf("the operator sees %s as %q, %v", id, run.Unserved, err)
		}
		if _, err := d.operator().Abandon(t0(), id); !errors.Is(err, control.ErrNotStranded) {
			t.Errorf("abandon %s says %v", id, err)
		}
		run, err := d.operator().Cancel(t0(), id)
		if err != nil || run.Reason != delegation.ReasonOperator || run.Unserved != "" {
			t.Errorf("cancel %s says %+v, %v", id, run, err)
		}
		if _, err := d.operator().Cancel(t0(), id); !errors.Is(err, control.ErrEnded) {
			t.Errorf("the second cancel says %v", err)
		}
	}
	if left, err := d.fake.List(t0()); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	d.isFree(second, in)
	d.comeBack()
	for _, a := range []ask{running, waiting} {
		d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonOperator, -1)
	}
	d.empty()
}

// TestARunThatCannotBeEndedAsideKeepsItsPlace until its sandbox can be removed.
func TestARunThatCannotBeEndedAsideKeepsItsPlace(t *testing.T) {
	d, s := newSticky(t, func(c *Config) { c.MaxRunning, c.Timing.Terminate = 4, patience }) // until the watcher is gone
	running := d.submit(ask{id: "running", task: "ignore-term"})
	d.started(running)
	key := d.latest("running").Key
	d.touch("cancel_running")
	d.eventually("the journal knows why it is ended", func() bool { return d.latest("running").Ending != nil })
	d.crash()
	d.config.Timing.Terminate = d.config.Timing.Interrupt
	second := d.leaveAway()
	in := filepath.Join(d.outbox+".real", "workspaces", "running")
	d.isBusy(second, in)
	s.stuck.Store(false)
	d.eventually("it has ended, although its outbox is away", func() bool {
		r := d.latest("running")
		return r.State == delegation.StateEnded && r.Reason == delegation.ReasonCancelled
	})
	d.holdsNoPlace(key)
	d.isFree(second, in)
	d.comeBack()
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
}

// TestADeadSandboxThatIsEndedAsideHoldsNoPlace, although it cannot be removed.
func TestADeadSandboxThatIsEndedAsideHoldsNoPlace(t *testing.T) {
	d, s := newSticky(t, func(c *Config) { c.MaxRunning = 4 })
	reached, never := make(chan struct{}), make(chan struct{})
	d.world.After(sandboxtest.OpWait, sync.OnceFunc(func() { close(reached); <-never }))
	running := d.submit(ask{id: "running", task: "sleep"})
	d.started(running)
	d.touch("cancel_running")
	<-reached
	d.world.After(sandboxtest.OpWait, nil)
	d.crash(func() { close(never) })
	second := d.leaveAway()
	key := d.latest("running").Key
	d.holdsNoPlace(key)
	d.isFree(second, filepath.Join(d.outbox+".real", "workspaces", "running"))
	if !(&recovery{Watcher: d.watcher}).unfinished(t0(), key) {
		t.Error("a sweep would take the note with which the run's live output is completed")
	}
	s.stuck.Store(false)
	d.comeBack()
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
	d.eventually("its note is not needed any more", func() bool { return !(&recovery{Watcher: d.watcher}).unfinished(t0(), key) })
}

// TestARunIsListedWhenItIsComplete: an operator asks for its end while a starting watcher still removes its sandbox.
func TestARunIsListedWhenItIsComplete(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Timing.Terminate = patience }) // until the watcher is gone
	running := d.submit(ask{id: "running", task: "ignore-term"})
	d.started(running)
	d.touch("cancel_running")
	d.eventually("the journal knows why it is ended", func() bool { return d.latest("running").Ending != nil })
	d.crash()
	d.config.Timing.Terminate = d.config.Timing.Interrupt
	var asked error
	d.world.Before(sandboxtest.OpRemove, sync.OnceFunc(func() { _, asked = d.operator().Cancel(t0(), "running") }))
	d.leaveAway()
	if !errors.Is(asked, control.ErrUntaken) {
		t.Errorf("the operator is told %v", asked)
	}
	d.comeBack()
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
}

// TestARunOfAnOutboxThatIsNotServedAnyMoreKeepsItsPlace until its sandbox can be removed.
func TestARunOfAnOutboxThatIsNotServedAnyMoreKeepsItsPlace(t *testing.T) {
	d, s := newSticky(t, func(c *Config) { c.MaxRunning = 4 })
	running := d.submit(ask{id: "running", task: "sleep"})
	d.started(running)
	d.crash()
	second := d.newOutbox("second")
	settings := d.settings("second", second)
	settings.Policy.Allow = append(settings.Policy.Allow, compile.Root(filepath.Join(d.outbox, "workspaces")))
	d.config.Outboxes = []outbox.Settings{settings}
	d.open()
	d.isBusy(second, running.workspace)
	s.stuck.Store(false)
	d.eventually("it has ended", func() bool {
		r := d.latest("running")
		return r.State == delegation.StateEnded && r.Reason == delegation.ReasonOperator
	})
	d.holdsNoPlace(d.latest("running").Key)
	d.isFree(second, running.workspace)
}

// holdsNoPlace waits until a run without a watcher has none.
func (d *desk) holdsNoPlace(key string) {
	d.Helper()
	d.eventually("it holds no place", func() bool { return d.watcher.unserved.run(key) == nil })
}

// isBusy checks that nobody gets a workspace, and isFree that somebody does.
func (d *desk) isBusy(outbox, workspace string) {
	d.Helper()
	if resp := d.response(d.submit(ask{id: "busy", task: "echo never", outbox: outbox, workspace: workspace})); resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		d.Errorf("the workspace is given away: %+v", resp)
	}
}

func (d *desk) isFree(outbox, workspace string) {
	d.Helper()
	d.want(d.response(d.submit(ask{id: "free", task: "echo", outbox: outbox, workspace: workspace})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAnOperatorGivesARunUpThatIsLeftAside and stranded: its client reads that when the directory of the outbox is back.
func TestAnOperatorGivesARunUpThatIsLeftAside(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stop()
	d.leaveAway()
	if run, err := d.operator().Run(t0(), "s1"); err != nil || run.Stranded == "" {
		t.Errorf("the operator sees %+v, %v", run, err)
	}
	if run, err := d.operator().Abandon(t0(), "s1"); err != nil || run.Reason != delegation.ReasonLost {
		t.Errorf("abandon says %+v, %v", run, err)
	}
	if d.latest("s1").Answered {
		t.Error("its answer is not owed any more, and its client has not got it")
	}
	d.comeBack()
	d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
	d.back()
	d.empty()
}

// TestACancelOfARunThatIsLeftAsideAndStrandedWaits for the site and the directory, also where other watchers come in between.
func TestACancelOfARunThatIsLeftAsideAndStrandedWaits(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stop()
	d.leaveAway()
	for range 2 {
		if _, err := d.operator().Cancel(t0(), "s1"); !errors.Is(err, control.ErrStranded) {
			t.Errorf("cancel says %v", err)
		}
	}
	d.comeBack()
	d.back()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonOperator, -1)
	d.empty()
}

// asked is a launcher that hears, as that of a host does, when another site answers.
type asked struct {
	sandbox.Launcher
	other *atomic.Bool
}

func (l asked) Site(ctx context.Context) (string, error) {
	id, err := l.Launcher.Site(ctx)
	if errors.Is(err, sandbox.ErrOtherSite) {
		l.other.Store(true)
	}
	return id, err
}

// TestTheReturnOfASiteIsNoticed although all runs that are stranded are of outboxes that are not served.
func TestTheReturnOfASiteIsNoticed(t *testing.T) {
	for what, leave := range map[string]func(d *desk){
		"left aside":               func(d *desk) { d.leaveAway() },
		"not in the configuration": func(d *desk) { d.lead("second", d.newOutbox("second")); d.open() },
	} {
		t.Run(what, func(t *testing.T) {
			d, _, _ := exchanged(t)
			d.stop()
			other := &atomic.Bool{}
			d.wrap = func(l sandbox.Launcher) sandbox.Launcher { return asked{l, other} }
			leave(d)
			d.world.Exchange(sandboxtest.FirstSite)
			d.eventually("a launcher is asked for its site", other.Load)
		})
	}
}

// TestAnOperatorIsToldOfARunThatIsNotTakenUp: it has not ended, and the watcher says so.
func TestAnOperatorIsToldOfARunThatIsNotTakenUp(t *testing.T) {
	held := &atomic.Bool{}
	d := newDesk(t, func(c *Config) {
		c.MaxRunning = 1
		c.Outboxes[0].Lock = func() error {
			if held.Load() {
				return errors.New("another process holds it")
			}
			return nil
		}
	})
	d.gate()
	d.started(d.submit(ask{id: "running", task: "gated"}))
	d.submit(ask{id: "waiting", task: "echo"})
	d.eventually("one waits", func() bool { return d.exists("status_waiting.json") })
	d.pause()
	held.Store(true)
	d.open()
	for what, end := range map[string]func(context.Context, string) (control.Run, error){"cancel": d.operator().Cancel, "abandon": d.operator().Abandon} {
		if _, err := end(t0(), "waiting"); !errors.Is(err, control.ErrUntaken) {
			t.Errorf("%s says %v", what, err)
		}
	}
	held.Store(false)
}

// againAside has the next watcher serve what this one did.
func (d *desk) againAside() {
	d.Helper()
	d.pause()
	for i, o := range d.config.Outboxes {
		s := d.settings(o.Policy.Outbox, o.Policy.Dir)
		s.Policy.Allow = o.Policy.Allow
		d.config.Outboxes[i] = s
	}
	d.open()
}

// TestARunThatWasGivenUpTakesNothing: its workspace is free at the next start as well.
func TestARunThatWasGivenUpTakesNothing(t *testing.T) {
	d, _, _ := exchanged(t)
	d.stop()
	second := d.leaveAway()
	if run, err := d.operator().Abandon(t0(), "s1"); err != nil || run.Reason != delegation.ReasonLost {
		t.Fatalf("abandon says %+v, %v", run, err)
	}
	d.againAside()
	if run, err := d.operator().Run(t0(), "s1"); err != nil || run.Stranded != "" {
		t.Errorf("it is stranded %q, %v", run.Stranded, err)
	}
	in := filepath.Join(d.outbox+".real", "workspaces", "s1")
	if resp := d.response(d.submit(ask{id: "free", task: "echo", outbox: second, workspace: in})); resp.Error != nil {
		t.Errorf("its workspace is taken: %+v", resp.Error)
	}
}

// TestACancelThatWaitsIsCarriedOut when the site is back, although the outbox's directory is not.
func TestACancelThatWaitsIsCarriedOut(t *testing.T) {
	d, _, _ := exchanged(t)
	d.stop()
	d.leaveAway()
	if _, err := d.operator().Cancel(t0(), "s1"); !errors.Is(err, control.ErrStranded) {
		t.Fatal(err)
	}
	d.world.Exchange("site-1")
	d.againAside()
	d.eventually("it has ended", func() bool {
		left, err := d.fake.List(t0())
		d.must(err)
		return d.latest("s1").State == delegation.StateEnded && len(left) == 0
	})
}

// TestACancelThatFailedIsNoCancel: the run of a request that waits goes on when its outbox is back, and over the start after it.
func TestACancelThatFailedIsNoCancel(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	release := d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	waiting := d.submit(ask{id: "waiting", task: "gated"})
	d.eventually("the other one waits", func() bool { return d.exists("status_waiting.json") })
	d.pause()
	d.leaveAway()
	key := d.latest("waiting").Key
	unwritten := newUnserved(d.watcher.unserved.run(key).record, nil)
	unwritten.record.State = delegation.StateRunning // which the journal does not take
	if err := d.watcher.unserved.cancel(t0(), unwritten); err == nil {
		t.Fatal("the journal takes it")
	}
	_, err := d.operator().Cancel(t0(), "running")
	d.must(err)
	d.comeBack()
	d.started(waiting)
	d.pause()
	d.lead("main", d.outbox)
	d.open()
	release()
	d.want(d.response(waiting), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// leaving is a launcher whose caller goes in the middle of a removal.
type leaving struct {
	sandbox.Launcher
	gone context.CancelFunc
}

func (l leaving) Remove(ctx context.Context, h sandbox.Handle) error {
	l.gone()
	return l.Launcher.Remove(ctx, h)
}

// TestAnOperatorWhoLeavesTakesNothingAlong: the run whose cancel was begun ends, and its workspace is free.
func TestAnOperatorWhoLeavesTakesNothingAlong(t *testing.T) {
	d := newDesk(t, nil)
	d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	d.pause()
	ctx, leave := context.WithCancel(t0())
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { return leaving{l, leave} }
	second := d.leaveAway()
	if _, err := d.operator().Cancel(ctx, "running"); !errors.Is(err, context.Canceled) {
		t.Errorf("the operator who left is told %v", err)
	}
	if r := d.latest("running"); r.State != delegation.StateEnded || r.Reason != delegation.ReasonOperator {
		t.Errorf("it is %s, %s", r.State, r.Reason)
	}
	in := filepath.Join(d.outbox+".real", "workspaces", "running")
	d.want(d.response(d.submit(ask{id: "free", task: "echo", outbox: second, workspace: in})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.comeBack()
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonOperator, -1)
}

// stuckRemoval is a launcher whose removals hang until they are let go.
type stuckRemoval struct {
	sandbox.Launcher
	begun, goOn chan struct{}
}

func (l stuckRemoval) Remove(ctx context.Context, h sandbox.Handle) error {
	close(l.begun)
	<-l.goOn
	return l.Launcher.Remove(ctx, h)
}

// TestAnOperatorDoesNotWaitForAnother whose call hangs: a run that cannot be given up is said to be so at once, and an operator who
// leaves is let go.
func TestAnOperatorDoesNotWaitForAnother(t *testing.T) {
	d := newDesk(t, nil)
	d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	d.pause()
	stuck := stuckRemoval{begun: make(chan struct{}), goOn: make(chan struct{})}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { stuck.Launcher = l; return stuck }
	d.leaveAway()
	first := make(chan error, 1)
	go func() { _, err := d.operator().Cancel(t0(), "running"); first <- err }()
	<-stuck.begun
	gone, leave := context.WithCancel(t0())
	defer leave()
	for what, c := range map[string]struct {
		end  func(context.Context, *unserved) error
		want error
	}{"abandon": {d.watcher.unserved.abandon, control.ErrNotStranded}, "cancel": {d.watcher.unserved.cancel, context.Canceled}} {
		told := make(chan error, 1)
		go func() { told <- c.end(gone, d.watcher.unserved.run(d.latest("running").Key)) }()
		if what == "cancel" {
			leave()
		}
		select {
		case err := <-told:
			if !errors.Is(err, c.want) {
				t.Errorf("%s says %v", what, err)
			}
		case <-time.After(patience):
			t.Errorf("%s waits for the one that hangs", what)
		}
	}
	close(stuck.goOn)
	d.must(<-first)
	d.comeBack()
	d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonOperator, -1)
}
