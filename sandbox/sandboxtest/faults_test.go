package sandboxtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// step is a call of a launcher.
type step struct {
	op   sandboxtest.Op
	call func() error
}

// steps are all calls there are, in an order in which all of them can work.
func (u *user) steps(h sandbox.Handle, a sandbox.Attachment) []step {
	ctx := context.Background()
	return []step{
		{sandboxtest.OpCheck, func() error { _, err := u.fake.Check(ctx); return err }},
		{sandboxtest.OpCreate, func() error { _, err := u.fake.Create(ctx, sandbox.NewSandboxID(), u.spec("echo")); return err }},
		{sandboxtest.OpStart, func() error { return u.fake.Start(ctx, h) }},
		{sandboxtest.OpOpen, func() error { _, err := u.fake.Open(ctx, h, ""); return err }},
		{sandboxtest.OpList, func() error { _, err := u.fake.List(ctx); return err }},
		{sandboxtest.OpSignal, func() error { return a.Signal(ctx, sandbox.Terminate) }},
		{sandboxtest.OpWait, func() error { _, err := a.Wait(ctx); return err }},
		{sandboxtest.OpRemove, func() error { return u.fake.Remove(ctx, h) }},
	}
}

func TestEachStepFailsOnce(t *testing.T) {
	boom := errors.New("boom")
	u := newUser(t)
	h, a := u.start(u.spec("exit", "0"))
	u.wait(a)
	for _, s := range u.steps(h, a) {
		u.world.Fail(s.op, 2, boom)
		before := u.world.Calls(s.op)
		for nth, want := range []error{nil, boom, nil} {
			if err := s.call(); !errors.Is(err, want) {
				t.Errorf("%s, call %d: %v, want %v", s.op, nth+1, err, want)
			}
		}
		if n := u.world.Calls(s.op) - before; n != 3 {
			t.Errorf("%s was called 3 times and not %d", s.op, n)
		}
	}
}

func TestFailHasNoEffectAndFailAfterHas(t *testing.T) {
	boom := errors.New("boom")
	u := newUser(t)
	u.world.Fail(sandboxtest.OpCreate, 1, boom)
	u.world.FailAfter(sandboxtest.OpCreate, 2, boom)
	for nth, want := range []int{0, 1} {
		if _, err := u.fake.Create(t.Context(), sandbox.NewSandboxID(), u.spec("echo")); !errors.Is(err, boom) {
			t.Errorf("call %d: %v", nth+1, err)
		}
		if n := len(u.world.Sandboxes()); n != want {
			t.Errorf("call %d: there are %d sandboxes, want %d", nth+1, n, want)
		}
	}
}

func TestHooksStopACallBeforeAndAfterItsEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		arrived, leave := make(chan string), make(chan struct{})
		stop := func(where string) func() { return func() { arrived <- where; <-leave } }
		u.world.Before(sandboxtest.OpCreate, stop("before"))
		u.world.After(sandboxtest.OpCreate, stop("after"))
		go u.fake.Create(t.Context(), sandbox.NewSandboxID(), u.spec("echo"))
		for i, where := range []string{"before", "after"} {
			if got := <-arrived; got != where || len(u.world.Sandboxes()) != i {
				t.Errorf("stopped %s the call with %d sandboxes", got, len(u.world.Sandboxes()))
			}
			leave <- struct{}{}
		}
		u.world.Before(sandboxtest.OpCreate, nil)
		u.world.After(sandboxtest.OpCreate, nil)
		u.start(u.spec("echo"))
	})
}

func TestACallThatIsCancelledInItsHookHasNoEffect(t *testing.T) {
	u := newUser(t)
	ctx, cancel := context.WithCancel(t.Context())
	u.world.Before(sandboxtest.OpCreate, cancel)
	if _, err := u.fake.Create(ctx, sandbox.NewSandboxID(), u.spec("echo")); !errors.Is(err, context.Canceled) || len(u.world.Sandboxes()) != 0 {
		t.Errorf("%v, and there are %v", err, u.world.Sandboxes())
	}
}

func TestCrashBreaksOffEverythingAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		h, a := u.start(u.spec("sleep"))
		waited := make(chan error)
		go func() { _, err := a.Wait(context.Background()); waited <- err }()
		synctest.Wait()
		u.fake.Crash()
		if err := <-waited; !errors.Is(err, sandboxtest.ErrCrashed) {
			t.Errorf("Wait: %v", err)
		}
		rest(a, sandbox.Stdout) // ends
		for _, s := range u.steps(h, a) {
			if err := s.call(); !errors.Is(err, sandboxtest.ErrCrashed) {
				t.Errorf("%s: %v", s.op, err)
			}
		}
		u.fake = u.world.Launcher("here")
		again, err := u.fake.Open(t.Context(), h, "")
		u.must(err)
		u.must(again.Signal(t.Context(), sandbox.Terminate))
		if exit := u.wait(again); exit.Code != 143 {
			t.Errorf("the sandbox did not live on: %+v", exit)
		}
	})
}

// The site did what it was asked to, and the watcher did not live to hear it.
func TestCrashAfterTheEffect(t *testing.T) {
	u := newUser(t)
	u.world.After(sandboxtest.OpCreate, u.fake.Crash)
	if _, err := u.fake.Create(t.Context(), sandbox.NewSandboxID(), u.spec("echo")); !errors.Is(err, sandboxtest.ErrCrashed) {
		t.Errorf("Create: %v", err)
	}
	if left, err := u.world.Launcher("here").List(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("the next launcher finds %v, %v", left, err)
	}
}

func TestVanishedSandbox(t *testing.T) {
	u := newUser(t)
	h, a := u.start(u.spec("sleep"))
	u.world.Vanish(h)
	rest(a, sandbox.Stdout) // ends
	if _, err := a.Wait(t.Context()); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := u.fake.Open(t.Context(), h, ""); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
}
