package watcher

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/watcher/outbox"
)

// keep has the desk's watchers leave what runs to the next one.
func keep(c *Config) {
	c.Shutdown.Keep = true
	c.Outboxes[0].Policy.Profiles[0].Attempts = 3
}

// exchanged is a desk whose watcher left a run on the first site, and finds another one in its place.
func exchanged(t *testing.T) (d *desk, a ask, release func()) {
	t.Helper()
	d = newDesk(t, keep)
	release = d.gate()
	a = d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.world.Exchange("site-2")
	d.open()
	return d, a, release
}

// back puts the first site in its place again, and opens the launcher on it as a host does.
func (d *desk) back() {
	d.Helper()
	d.stop()
	d.world.Exchange(sandboxtest.FirstSite)
	d.open()
}

// stranded waits until a run is said to be stranded, everywhere.
func (d *desk) stranded(a ask) {
	d.Helper()
	d.eventually("the operator sees it stranded", func() bool {
		run, err := d.operator().Run(t0(), a.id)
		return err == nil && strings.Contains(run.Stranded, "site-1") && run.State == delegation.StateRunning
	})
	d.eventually("its client reads why", func() bool { return strings.HasPrefix(d.status(a.id).Detail, "Stranded: ") })
	d.eventually("there is a notice", func() bool {
		return slices.ContainsFunc(d.watcher.notices.Of("main"), func(n delegation.Notice) bool { return n.Code == delegation.NoticeStranded })
	})
	if d.exists("response_" + a.id + ".json") {
		d.Error("a stranded run is answered")
	}
}

func TestAnotherSiteStrandsARun(t *testing.T) {
	d, a, release := exchanged(t)
	d.stranded(a)
	inside := d.submit(ask{id: "s2", task: "echo never", workspace: a.workspace})
	resp := d.response(inside)
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("the workspace of a stranded run is another's: %+v", resp)
	}
	d.want(d.response(d.submit(ask{id: "s3", task: "echo beside"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.stranded(a)
	d.back()
	release()
	resp = d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "before\nafter\n" || resp.Attempt != 1 {
		t.Errorf("the run did not go on: %+v", resp)
	}
	d.onceEach()
}

// TestAStrandedRunStaysStranded: another start on the wrong site changes nothing.
func TestAStrandedRunStaysStranded(t *testing.T) {
	d, a, release := exchanged(t)
	for range 2 {
		d.stranded(a)
		d.stop()
		d.open()
	}
	d.back()
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

// TestAStrandedRunTakesNoTurn: where only one run may run at once, the stranded one does not keep the others waiting.
func TestAStrandedRunTakesNoTurn(t *testing.T) {
	d := newDesk(t, func(c *Config) { keep(c); c.MaxRunning = 1 })
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.world.Exchange("site-2")
	d.open()
	d.want(d.response(d.submit(ask{id: "s2", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.stranded(a)
	d.back()
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestASiteThatIsExchangedUnderAWatcherStrandsItsRuns(t *testing.T) {
	d := newDesk(t, keep)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.world.Exchange("site-2")
	d.stranded(a)
	d.world.Exchange(sandboxtest.FirstSite)
	release()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attempt != 1 {
		t.Errorf("it was attempt %d", resp.Attempt)
	}
	d.onceEach()
	d.eventually("nothing is said any more", func() bool { return len(d.watcher.notices.Of("main")) == 0 })
}

// TestWhatItsOwnSiteDoesNotHaveIsLost: once the site of a stranded run is back, it is believed.
func TestWhatItsOwnSiteDoesNotHaveIsLost(t *testing.T) {
	d, a, _ := exchanged(t)
	d.config.Outboxes[0].Policy.Profiles[0].Attempts = 1
	d.stranded(a)
	d.world.Vanish(*d.latest("s1").Handle)
	d.back()
	d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
}

// TestACancelOfAStrandedRunWaits: the sandbox cannot be proved dead, so the answer does not say that it is.
func TestACancelOfAStrandedRunWaits(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stranded(a)
	d.touch("cancel_s1")
	d.eventually("the cancel is heard", func() bool {
		r := d.watcher.runs.Running(d.latest("s1").Key)
		return r != nil && r.Cause() == delegation.ReasonCancelled
	})
	d.stranded(a)
	d.back()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
}

// TestAnOperatorsCancelOfAStrandedRunIsKept: the watcher that was told of it opens its launchers anew when the site is back.
func TestAnOperatorsCancelOfAStrandedRunIsKept(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stranded(a)
	if _, err := d.operator().Cancel(t0(), "s1"); !errors.Is(err, control.ErrStranded) {
		t.Fatalf("cancel says %v", err)
	}
	d.back()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonOperator, -1)
	d.empty()
}

// TestAnOperatorsCancelIsKept: an operator cancels a run while its sandbox is made, and the watcher dies. The next one runs nothing.
func TestAnOperatorsCancelIsKept(t *testing.T) {
	d := newDesk(t, nil)
	stuck := d.hangIn(sandboxtest.OpCreate, 1, false)
	a := d.submit(ask{id: "s1", task: "echo never"})
	<-stuck.reached
	operator, answered := d.operator(), make(chan struct{})
	go func() {
		defer close(answered)
		if run, err := operator.Cancel(t0(), "s1"); err == nil {
			t.Errorf("the operator is told that it is over: %+v", run)
		}
	}()
	d.eventually("the cancel is noted", func() bool { return d.latest("s1").Ending != nil })
	d.crash(stuck.free)
	<-answered
	d.open()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonOperator, -1)
	if ran := d.world.Released(); len(ran) > 0 {
		t.Errorf("%v ran", ran)
	}
	d.empty()
}

// TestAStrandedRunKeepsItsSubagent: the next request of that subagent waits until the earlier run is proved dead.
func TestAStrandedRunKeepsItsSubagent(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stranded(a)
	next := d.submit(ask{id: "s1", request: "r2", task: "echo next"})
	d.eventually("the earlier run is superseded", func() bool {
		r := d.watcher.runs.Running(d.runOf(a))
		return r != nil && r.Cause() == delegation.ReasonSuperseded
	})
	if n := len(d.world.Released()); n != 1 || d.exists("response_s1.json") {
		t.Errorf("%d agents ran, and the outbox holds %v", n, d.names(d.outbox))
	}
	d.back()
	resp := d.response(next)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if n := d.world.MostAtOnce("s1"); n != 1 {
		t.Errorf("%d runs of one subagent at once", n)
	}
}

// runOf is the key of a request's first attempt.
func (d *desk) runOf(a ask) string {
	d.Helper()
	request, err := delegation.ParseRequestID(a.request)
	d.must(err)
	return sandbox.RunKey{Outbox: d.box("main"), Subagent: mustID(d, a.id), Request: request, Attempt: 1}.Hash()
}

// TestTheTimeOfAStrandedRunGoesOn, and its answer is owed until its site tells how it ended.
func TestTheTimeOfAStrandedRunGoesOn(t *testing.T) {
	const allowed = time.Hour
	d := newDesk(t, keep)
	d.gate()
	a := d.submit(ask{id: "s1", task: "gated", timeout: int(allowed / time.Second)})
	d.started(a)
	d.stop()
	d.age(allowed)
	d.world.Exchange("site-2")
	d.open()
	d.stranded(a)
	d.back()
	d.want(d.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	d.onceEach()
}

func TestAnOperatorGivesAStrandedRunUp(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stranded(a)
	if _, err := d.operator().Cancel(t0(), "s1"); !errors.Is(err, control.ErrStranded) {
		t.Errorf("cancel says %v", err)
	}
	d.stranded(a)
	run, err := d.operator().Abandon(t0(), "s1")
	if err != nil || run.Reason != delegation.ReasonLost {
		t.Errorf("abandon says %+v, %v", run, err)
	}
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonLost, -1)
	if !strings.Contains(resp.StderrTail, "may go on") || resp.Attempt != 1 {
		t.Errorf("it is not said that the sandbox may live on: %+v", resp)
	}
	if _, err := d.operator().Abandon(t0(), "s1"); !errors.Is(err, control.ErrEnded) {
		t.Errorf("abandon of what has ended says %v", err)
	}
	d.want(d.response(d.submit(ask{id: "s2", task: "echo", workspace: a.workspace})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.back()
	d.empty() // its sandbox belongs to no run any more
}

func TestOnlyAStrandedRunIsGivenUp(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	if _, err := d.operator().Abandon(t0(), "s1"); !errors.Is(err, control.ErrNotStranded) {
		t.Errorf("abandon of a run that runs says %v", err)
	}
}

// TestAStrandedRunOfAnOutboxThatIsNotServed keeps its workspace from the runs of other outboxes.
func TestAStrandedRunOfAnOutboxThatIsNotServed(t *testing.T) {
	d, a, _ := exchanged(t)
	d.stop()
	second := d.newOutbox("second")
	settings := d.settings("second", second)
	settings.Policy.Allow = append(settings.Policy.Allow, compile.Root(filepath.Join(d.outbox, "workspaces")))
	d.config.Outboxes = []outbox.Settings{settings}
	d.open()
	resp := d.response(d.submit(ask{id: "s2", task: "echo never", outbox: second, workspace: a.workspace}))
	if resp.Error == nil || resp.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("the workspace of a stranded run is another's: %+v", resp)
	}
	if run, err := d.operator().Run(t0(), "main/s1"); err != nil || run.Stranded == "" || run.State != delegation.StateRunning {
		t.Errorf("the operator sees %+v, %v", run, err)
	}
	if run, err := d.operator().Abandon(t0(), "main/s1"); err != nil || run.Reason != delegation.ReasonLost {
		t.Errorf("abandon says %+v, %v", run, err)
	}
	d.want(d.response(d.submit(ask{id: "s3", task: "echo", outbox: second, workspace: a.workspace})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAWatcherStopsOverAStrandedRun: it cannot end the run, says so, and does not wait for it.
func TestAWatcherStopsOverAStrandedRun(t *testing.T) {
	d, a, release := exchanged(t)
	d.config.Shutdown = Shutdown{Budget: time.Hour}
	d.stop()
	d.open()
	d.stranded(a)
	d.returns("a shutdown over a stranded run", d.kill, d.watcher.endLife)
	var owed *OwedError
	if !errors.As(d.result, &owed) || owed.Responses != 1 || owed.Sandboxes != 1 {
		t.Errorf("the watcher ended with %v", d.result)
	}
	d.must(d.journal.Close())
	d.stop = func() {}
	d.back()
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

// TestAHandleWithoutASite is an earlier version's: it is adopted where its launcher lists it, and its site is known from then on.
func TestAHandleWithoutASite(t *testing.T) {
	d := newDesk(t, keep)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.editHandle(forgetSite)
	d.open()
	if site := d.latest("s1").Handle.Site; site != sandboxtest.FirstSite {
		t.Errorf("the journal knows site %q", site)
	}
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

// TestAHandleWithoutASiteThatIsNotListed is lost, as it was for the version that wrote it.
func TestAHandleWithoutASiteThatIsNotListed(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Shutdown.Keep = true })
	d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.world.Vanish(d.editHandle(forgetSite))
	d.open()
	d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
}

// TestWithoutASiteInItsHandleARunIsDoneTwice shows what the handles of the other tests prevent.
func TestWithoutASiteInItsHandleARunIsDoneTwice(t *testing.T) {
	d := newDesk(t, keep)
	d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.editHandle(forgetSite)
	d.world.Exchange("site-2")
	d.open()
	d.eventually("a second attempt runs beside the first", func() bool { return d.world.MostAtOnce("s1") == 2 })
}

// TestASiteThatGetsAnotherID, as an upgrade may give it one, is known by what it has.
func TestASiteThatGetsAnotherID(t *testing.T) {
	d := newDesk(t, keep)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.stop()
	d.editHandle(func(h *sandbox.Handle) { h.Site = "the id of before" })
	d.open()
	if site := d.latest("s1").Handle.Site; site != sandboxtest.FirstSite {
		t.Errorf("the journal knows site %q", site)
	}
	release()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

func forgetSite(h *sandbox.Handle) { h.Site = "" }

// editHandle changes the handle of the only run in the journal, while no watcher runs.
func (d *desk) editHandle(edit func(*sandbox.Handle)) sandbox.Handle {
	d.Helper()
	j, err := journal.Open(t0(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	defer func() { d.must(j.Close()) }()
	all, err := j.Unfinished(t0(), 0, 2)
	d.must(err)
	if len(all) != 1 {
		d.Fatalf("the journal has %d runs", len(all))
	}
	edit(all[0].Handle)
	d.must(j.NoteSite(t0(), all[0].Key, *all[0].Handle))
	return *all[0].Handle
}
