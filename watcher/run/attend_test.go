package run

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/boot"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/test/house"
	"torno/watcher/approvals"
	"torno/watcher/workspace"
)

// TestWhoLeavesBeginsNoEnd: a second signal that comes when the watcher has left its runs to the next one ends no run.
func TestWhoLeavesBeginsNoEnd(t *testing.T) {
	for left, want := range map[bool]*journal.Ending{false: {Reason: delegation.ReasonShutdown}, true: nil} {
		a := attended(t)
		a.r.EndNow(delegation.ReasonShutdown)
		if left {
			a.leave()
		} else {
			close(a.exited)
		}
		a.kill()
		record, err := a.r.runs.Journal.Get(t.Context(), a.r.hash)
		if err != nil || !reflect.DeepEqual(record.Ending, want) {
			t.Errorf("left: %t; the next watcher reads %+v, %v", left, record.Ending, err)
		}
	}
}

// TestAJournalThatFailsKeepsNoAgentAlive: the note of why a run is being ended comes first, and is not waited for without an end.
func TestAJournalThatFailsKeepsNoAgentAlive(t *testing.T) {
	a := attended(t)
	if err := a.r.runs.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	a.r.EndNow(delegation.ReasonWorkspaceLimit)
	close(a.exited)
	a.kill()
	if got := a.att.(*docile).got; !slices.Equal(got, []sandbox.Signal{sandbox.Kill}) {
		t.Errorf("the sandbox got %v", got)
	}

	dying := attended(t)
	life, end := context.WithCancel(t.Context())
	dying.r.runs.Life = life
	end()
	dying.r.EndNow(delegation.ReasonOperator)
	if dying.r.noteEnding() {
		t.Error("a run is ended without a note although the next watcher could end it")
	}

	synctest.Test(t, func(t *testing.T) {
		var work sync.WaitGroup
		hangs := make(chan struct{})
		if err := callWithin(&work, noteBudget, func() error { <-hangs; return nil }); err == nil {
			t.Error("a call that hangs was done")
		}
		close(hangs)
		work.Wait()
	})
}

// TestAnOutboxThatHangsKeepsNoAgentAlive: while the outbox answers nothing, the run's time passes and its sandbox is killed.
func TestAnOutboxThatHangsKeepsNoAgentAlive(t *testing.T) {
	a := attended(t)
	outbox := &hanging{asked: make(chan struct{}), let: make(chan struct{})}
	a.r.client, a.r.desk, a.r.inputs = outbox, approvals.New(approvals.Ports{}), newInputs(false)
	a.r.runs.Clock = boot.Machine
	a.started, a.running, a.paused = make(chan time.Time, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	a.att = &mortal{exited: a.exited}
	a.work.Go(a.ask)
	over := make(chan struct{})
	go func() { defer close(over); a.watch() }()
	<-outbox.asked
	a.started <- time.Now() // it has no time left: its timeout is zero
	select {
	case <-over:
	case <-time.After(house.Patience):
		t.Error("its time has passed, and its sandbox lives")
	}
	close(outbox.let)
	<-over
	a.work.Wait()
	if got := a.r.Cause(); got != delegation.ReasonDeadline {
		t.Errorf("it was ended because of %q", got)
	}
}

// TestWhatEndedBeforeIsNotEndedForItsTime: the sandbox had ended when this watcher adopted its run, and its time is over by
// now, as after every reboot. The time of its end decides; if nobody knows that time, the run is lost.
func TestWhatEndedBeforeIsNotEndedForItsTime(t *testing.T) {
	for state, want := range map[sandbox.HandleState]delegation.Reason{sandbox.HandleExited: "", sandbox.HandleRunning: delegation.ReasonDeadline} {
		a := attended(t)
		a.r.runs.Clock = boot.Machine
		a.r.handle.State = state
		a.r.standing.now = Standing{Phase: Running, Started: time.Now()}
		a.started, a.running, a.paused = make(chan time.Time, 1), make(chan struct{}, 1), make(chan struct{})
		over := make(chan struct{})
		go func() { defer close(over); a.watch() }()
		for range 2 { // with the second one, the first has been looked at
			a.paused <- struct{}{}
		}
		close(a.exited)
		<-over
		a.work.Wait()
		if got := a.r.EndAsked(); got != want {
			t.Errorf("a sandbox that is %s: its run is to end because of %q", state, got)
		}
	}
}

// TestABrokenAttachmentAtAHungOutboxKeepsNoAgentAlive: the connection breaks while the outbox hangs, and the run's time
// passes.
func TestABrokenAttachmentAtAHungOutboxKeepsNoAgentAlive(t *testing.T) {
	runs := attended(t).r.runs // with a journal
	var ahead atomic.Int64
	runs.Clock = boot.Clock{Now: func() boot.Moment { return boot.Now().Add(time.Duration(ahead.Load())) }, Glance: 10 * time.Millisecond}
	runs.Workspaces = func(sandbox.Spec) (workspace.Directory, error) { return nil, fs.ErrNotExist }
	outbox := &hanging{asked: make(chan struct{}), let: make(chan struct{})}
	r := runs.newRun(Request{Outbox: "main"}, sandbox.Spec{Timeout: time.Hour}, outbox)
	l := &cutting{cut: make(chan struct{}), removed: make(chan struct{})}
	r.launcher, r.handle, r.out.Started = l, sandbox.Handle{ID: "box-1", State: sandbox.HandleRunning}, true
	r.release = releaseNow(runs.Clock)
	r.begun()
	r.standing.now = Standing{Phase: Running, Started: time.Now()}
	over := make(chan struct{})
	go func() { defer close(over); r.follow() }()
	<-outbox.asked
	close(l.cut)
	ahead.Store(int64(2 * time.Hour))
	select {
	case <-l.removed:
	case <-time.After(house.Patience):
		t.Error("nobody ends it")
	}
	close(outbox.let)
	<-over
}

// cutting launches one sandbox, and breaks its attachments when the test closes cut.
type cutting struct {
	sandbox.Launcher
	cut, removed chan struct{}
	once         sync.Once
}

func (l *cutting) Open(context.Context, sandbox.Handle, sandbox.Cursor) (sandbox.Attachment, error) {
	select {
	case <-l.removed:
		return nil, sandbox.ErrNotFound
	default:
		return &cuttable{launcher: l, output: make(chan sandbox.Chunk)}, nil
	}
}

func (l *cutting) Remove(context.Context, sandbox.Handle) error {
	l.once.Do(func() { close(l.removed) })
	return nil
}

type cuttable struct {
	sandbox.Attachment
	launcher *cutting
	output   chan sandbox.Chunk
	once     sync.Once
}

func (c *cuttable) Output() <-chan sandbox.Chunk { return c.output }

func (c *cuttable) Input() io.WriteCloser {
	_, input := io.Pipe()
	return input
}

func (c *cuttable) Wait(ctx context.Context) (exit sandbox.Exit, err error) {
	select {
	case <-c.launcher.cut:
	case <-ctx.Done():
	}
	return exit, errors.New("the connection broke")
}

func (c *cuttable) Signal(context.Context, sandbox.Signal) error { return nil }

func (c *cuttable) Close() error {
	c.once.Do(func() { close(c.output) })
	return nil
}

// hanging answers as an outbox when the test closes let.
type hanging struct {
	deaf
	asked, let chan struct{}
	once       sync.Once
}

func (h *hanging) ReadInput(context.Context, int) (in delegation.Input, refusal *delegation.Refusal, there bool) {
	return in, nil, false
}

func (h *hanging) Check() delegation.Reason {
	h.once.Do(func() { close(h.asked) })
	<-h.let
	return ""
}

// mortal is a sandbox that ends at the first signal.
type mortal struct {
	sandbox.Attachment
	exited chan struct{}
	once   sync.Once
}

func (m *mortal) Signal(context.Context, sandbox.Signal) error {
	m.once.Do(func() { close(m.exited) })
	return nil
}

// attended is a run in the journal, with a sandbox that has begun.
func attended(t *testing.T) *attendance {
	t.Helper()
	runs := runsOf(t)
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "state", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	runs.Journal = j
	record := journal.Run{Outbox: "main", Attempt: 1, State: delegation.StateQueued}
	record.Subagent, err = delegation.ParseSubagentID("s1")
	if err == nil {
		record.Request, err = delegation.ParseRequestID("r1")
	}
	record.Key = record.RunKey().Hash()
	if err == nil {
		_, err = j.Begin(t.Context(), record)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{Run: &Run{runs: runs, hash: record.Key, hurry: make(chan struct{}), log: runs.Log}}
	r.ending, r.stop = context.WithCancelCause(t.Context())
	a := &attendance{r: r, att: &docile{}, began: make(chan struct{}), exited: make(chan struct{})}
	a.ctx, a.leave = context.WithCancel(runs.Life)
	t.Cleanup(a.leave)
	close(a.began)
	return a
}

// docile is a sandbox that takes every signal.
type docile struct {
	sandbox.Attachment
	got []sandbox.Signal
}

func (d *docile) Signal(_ context.Context, s sandbox.Signal) error {
	d.got = append(d.got, s)
	return nil
}
