package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/test/wait"
)

// TestWhatIsFlushed is the table of the package's comment: which step is on the disk before its caller goes on.
func TestWhatIsFlushed(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := queued(t, "main", "a", "r1")
	refused := queued(t, "main", "a", "r2")
	refused.State, refused.Reason = delegation.StateEnded, delegation.ReasonRefused
	zero := 0
	for _, step := range []struct {
		name string
		want int
		do   func() error
	}{
		{"begin", 0, func() error { _, err := j.Begin(ctx, r); return err }},
		{"starting", 0, func() error { return j.Move(ctx, r.Key, "queued", "starting", Change{}) }},
		{"bound", 0, func() error { return j.Bind(ctx, r.Key, "a1") }},
		{"released", 1, func() error {
			return j.Release(ctx, r.Key, sandbox.Handle{ID: "c", Sandbox: "a1"}, time.Now(), sandbox.Attestation{}, sandbox.Spec{})
		}},
		{"running", 0, func() error { return j.Move(ctx, r.Key, "starting", "running", Change{}) }},
		{"end", 1, func() error {
			return j.Move(ctx, r.Key, "running", "ended", Change{Reason: delegation.ReasonExited, ExitCode: &zero})
		}},
		{"answer", 0, func() error { return j.NoteAnswered(ctx, r.Key) }},
		{"refusal", 1, func() error { _, err := j.Begin(ctx, refused); return err }},
	} {
		before, _ := j.Flushes()
		must(t, step.do())
		if after, _ := j.Flushes(); after-before != step.want {
			t.Errorf("%s: %d flushes, want %d", step.name, after-before, step.want)
		}
	}
}

// TestAFlushThatWouldNotBeIsAnError takes the writer's belief away from what SQLite was told.
func TestAFlushThatWouldNotBeIsAnError(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	bring(t, j, r.Key, delegation.StateStarting)
	_, err := j.write.Exec(`PRAGMA synchronous = normal`)
	must(t, err)
	j.writer.unflushed = false
	if err := j.Release(ctx, r.Key, sandbox.Handle{ID: "c"}, time.Now(), sandbox.Attestation{}, sandbox.Spec{}); err == nil {
		t.Error("a release was noted, and SQLite would not have flushed it")
	}
	if h := get(t, j, r.Key).Handle; h != nil {
		t.Errorf("the handle %+v is there", h)
	}
}

// TestWhoWaitsGoesTogether holds the writer until all callers wait for it.
func TestWhoWaitsGoesTogether(t *testing.T) {
	j := open4test(t, state(t))
	const n = 20
	for i := range n {
		r := begin(t, j, queued(t, "main", "a", fmt.Sprint(i)))
		bring(t, j, r.Key, delegation.StateStarting)
	}
	release, held := hold(t, j)
	before, _ := j.Flushes()
	var all sync.WaitGroup
	for i := range n {
		key := queued(t, "main", "a", fmt.Sprint(i)).Key
		all.Go(func() {
			if err := j.Release(context.Background(), key, sandbox.Handle{ID: key}, time.Now(), sandbox.Attestation{}, sandbox.Spec{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Until(t, "all wait", func() bool { return j.writer.waiting.Load() >= n })
	close(release)
	all.Wait()
	held.Wait()
	if after, _ := j.Flushes(); after-before > 2 {
		t.Errorf("%d flushes for %d writes that waited", after-before, n)
	}
	for i := range n {
		if r := get(t, j, queued(t, "main", "a", fmt.Sprint(i)).Key); r.Handle == nil || r.Handle.ID != r.Key {
			t.Errorf("run %d has the handle %+v", i, r.Handle)
		}
	}
}

// hold keeps the writer in an order until release is closed.
func hold(t *testing.T, j *Journal) (release chan struct{}, held *sync.WaitGroup) {
	t.Helper()
	release, held = make(chan struct{}), new(sync.WaitGroup)
	begun := make(chan struct{})
	held.Go(func() {
		err := j.order(context.Background(), "hold", withKernel, func(*transaction) error { close(begun); <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	return release, held
}

// TestNobodyPaysForAnothersMistake puts a write that the database refuses among good ones, in one transaction.
func TestNobodyPaysForAnothersMistake(t *testing.T) {
	j := open4test(t, state(t))
	good := begin(t, j, queued(t, "main", "a", "good"))
	orders := []*order{
		{ctx: context.Background(), done: make(chan error, 1), do: func(tx *transaction) error {
			_, err := tx.exec(moveRun, append((&Change{}).columns(true, time.Now()), delegation.StateStarting, good.Key, delegation.StateQueued)...)
			return err
		}},
		{ctx: context.Background(), done: make(chan error, 1), do: func(tx *transaction) error {
			_, err := tx.exec(moveRun, append((&Change{}).columns(true, time.Now()), "nonsense", good.Key, delegation.StateStarting)...)
			return err
		}},
	}
	j.writer.settle(orders) // its own goroutine waits at the door
	if err := <-orders[0].done; err != nil {
		t.Errorf("the good one: %v", err)
	}
	if err := <-orders[1].done; err == nil {
		t.Error("nonsense was written")
	}
	if got := get(t, j, good.Key).State; got != delegation.StateStarting {
		t.Errorf("the run is %s", got)
	}
}

func TestWhoGivesUpIsNotCarriedOut(t *testing.T) {
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Move(ctx, r.Key, "queued", "starting", Change{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Move = %v", err)
	}
	if got := get(t, j, r.Key).State; got != delegation.StateQueued {
		t.Errorf("the run is %s", got)
	}
	release, held := hold(t, j)
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := j.Move(ctx, r.Key, "queued", "starting", Change{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Move behind a writer that does not come = %v", err)
	}
	close(release)
	held.Wait()
}

func TestClosedJournal(t *testing.T) {
	j := first(Open(context.Background(), state(t)))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	must(t, j.Close())
	if err := j.NoteAnswered(context.Background(), r.Key); !errors.Is(err, ErrClosed) {
		t.Errorf("Answered = %v, want ErrClosed", err)
	}
}

// TestWhatWasHandedOverIsAnswered closes a journal while many write: each write is done or ErrClosed, and no call hangs.
func TestWhatWasHandedOverIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := first(Open(context.Background(), state(t)))
		results := make(chan error, 50)
		for i := range cap(results) {
			r := queued(t, "main", "a", fmt.Sprint(i))
			go func() { _, err := j.Begin(context.Background(), r); results <- err }()
		}
		must(t, j.Close())
		for range cap(results) {
			if err := <-results; err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
	})
}
