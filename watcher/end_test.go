package watcher

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// lateOutput is a launcher whose sandboxes' output ends when the test says so.
type lateOutput struct {
	sandbox.Launcher
	let chan struct{}
}

func (l *lateOutput) Open(ctx context.Context, h sandbox.Handle, from sandbox.Cursor) (sandbox.Attachment, error) {
	att, err := l.Launcher.Open(ctx, h, from)
	if err != nil {
		return nil, err
	}
	late := openAttachment{att, make(chan sandbox.Chunk)}
	go func() {
		defer close(late.output)
		for chunk := range att.Output() {
			late.output <- chunk
		}
		<-l.let
	}()
	return late, nil
}

type openAttachment struct {
	sandbox.Attachment
	output chan sandbox.Chunk
}

func (a openAttachment) Output() <-chan sandbox.Chunk { return a.output }

// TestAnEndThatWasSeenIsTheFirstCause: the host has seen exit 0, and somebody wants the run to end while the last output is still
// being read.
func TestAnEndThatWasSeenIsTheFirstCause(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	late := &lateOutput{let: make(chan struct{})}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { late.Launcher = l; return late }
	d.open()
	tell := d.untilTold()
	a := d.submit(ask{id: "s1", task: "until-told"})
	d.started(a)
	r := d.watcher.runs.Running(d.latest("s1").Key)
	tell()
	d.eventually("the end is seen", func() bool { return r.IsEnding() })
	r.End(delegation.ReasonCancelled)
	close(late.let)
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestACancelThatMakesTheSandboxVanishIsACancel(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "ignore-term"})
	d.started(a)
	d.world.Before(sandboxtest.OpSignal, func() { d.world.Vanish(*d.latest("s1").Handle) })
	d.touch("cancel_s1")
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
}

// TestAMoveThatWasMadeAlthoughItFailed: the journal is ahead of what the run knows of itself.
func TestAMoveThatWasMadeAlthoughItFailed(t *testing.T) {
	d := newDesk(t, nil)
	var once atomic.Bool
	d.world.Before(sandboxtest.OpInit, func() {
		if once.CompareAndSwap(false, true) {
			d.must(d.journal.Move(t0(), d.latest("s1").Key, delegation.StateStarting, delegation.StateRunning, journal.Change{}))
		}
	})
	a := d.submit(ask{id: "s1", task: "echo"})
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// hears is a log that closes a channel when something is said for the first time.
type hears struct {
	slog.Handler
	text  string
	heard chan struct{}
	once  *sync.Once
}

func newHears(text string) hears {
	return hears{slog.DiscardHandler, text, make(chan struct{}), new(sync.Once)}
}

func (h hears) Enabled(context.Context, slog.Level) bool { return true }
func (h hears) WithAttrs([]slog.Attr) slog.Handler       { return h }

func (h hears) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.text {
		h.once.Do(func() { close(h.heard) })
	}
	return nil
}

// TestThatARunStartedIsNotedLater: the journal does not take it at first. It is told again while the agent runs, without another
// attachment.
func TestThatARunStartedIsNotedLater(t *testing.T) {
	told := newHears("the journal did not record that a run has started")
	d := newDesk(t, func(c *Config) { c.Log = slog.New(told) })
	d.tamper(`CREATE TRIGGER full BEFORE UPDATE ON runs WHEN NEW.state = 'running' BEGIN SELECT RAISE(FAIL, 'full'); END`)
	a := d.submit(ask{id: "s1", task: "sleep"})
	<-told.heard
	if r := d.latest("s1"); r.State != delegation.StateStarting {
		t.Fatalf("the journal says %s", r.State)
	}
	d.tamper(`DROP TRIGGER full`)
	d.started(a)
	if r := d.latest("s1"); r.Started.IsZero() || d.world.Calls(sandboxtest.OpOpen) != 1 {
		t.Errorf("it started at %s, and was attached to %d times", r.Started, d.world.Calls(sandboxtest.OpOpen))
	}
	d.touch("cancel_s1")
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
}

func TestAJournalThatFailsDoesNotHoldAShutdown(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Shutdown.Budget, c.Timing.Last = 10*time.Millisecond, 10*time.Millisecond })
	d.started(d.submit(ask{id: "s1", task: "sleep"}))
	d.must(d.journal.Close())
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.kill() }()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Error("the watcher waits for ever")
		d.watcher.endLife()
		<-stopped
	}
	if owed, ok := errors.AsType[*OwedError](d.result); !ok || owed.Unknown == nil {
		t.Errorf("it ended with %v, and nobody knows what it owes", d.result)
	}
	d.stop = func() {}
}

func TestAWorkspaceIsFreeWhenItsRunIsAnswered(t *testing.T) {
	d := newDesk(t, nil)
	hold := make(chan struct{})
	d.world.Before(sandboxtest.OpRemove, func() { <-hold })
	a := d.submit(ask{id: "s1", task: "echo one"})
	d.response(a)
	b := d.submit(ask{id: "s2", task: "echo two", workspace: a.workspace})
	d.eventually("the second waits or is refused", func() bool { return d.exists("status_s2.json") })
	close(hold)
	d.want(d.response(b), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if shared := d.world.SharedWorkspaces(); len(shared) != 0 {
		t.Errorf("workspaces were shared: %v", shared)
	}
}

// lateLine is a launcher whose first attachment breaks before it delivers anything, and delivers init's line while it is
// being closed.
type lateLine struct {
	sandbox.Launcher
	opened atomic.Bool
}

func (l *lateLine) Open(ctx context.Context, h sandbox.Handle, c sandbox.Cursor) (sandbox.Attachment, error) {
	att, err := l.Launcher.Open(ctx, h, c)
	if err != nil || !l.opened.CompareAndSwap(false, true) {
		return att, err
	}
	return &lateAttachment{att, make(chan sandbox.Chunk)}, nil
}

type lateAttachment struct {
	sandbox.Attachment
	output chan sandbox.Chunk
}

func (a *lateAttachment) Output() <-chan sandbox.Chunk { return a.output }

func (a *lateAttachment) Wait(context.Context) (sandbox.Exit, error) {
	return sandbox.Exit{}, errors.New("the connection broke")
}

func (a *lateAttachment) Close() error {
	defer close(a.output)
	for chunk := range a.Attachment.Output() {
		a.output <- chunk
		if bytes.Contains(chunk.Bytes, []byte("\n")) {
			break
		}
	}
	return a.Attachment.Close()
}

func TestAStartThatIsSeenAtTheLastMoment(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { return &lateLine{Launcher: l} }
	d.open()
	a := d.submit(ask{id: "s1", task: "sleep", timeout: 3600})
	d.started(a)
	if d.latest("s1").Started.IsZero() {
		t.Error("nobody knows since when it runs")
	}
}
