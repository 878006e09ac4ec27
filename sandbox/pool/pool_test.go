package pool_test

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
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/pool"
	"torno/sandbox/sandboxtest"
)

// scene is a pool before a fake, which it fills.
type scene struct {
	*testing.T
	*pool.Pool
	world *sandboxtest.World
	fake  *sandboxtest.Fake
	dir   string
	stop  func()
}

// usual are the options of a pool with two sandboxes on each shelf.
var usual = pool.Options{Size: 2, Idle: time.Hour, Most: 8}

// pooled tells a story in a bubble, where time is nobody's.
func pooled(t *testing.T, o pool.Options, story func(*scene)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		world := sandboxtest.NewWorld(t)
		fake := world.Launcher("ours")
		s := &scene{T: t, Pool: pool.New(fake, fake, o), world: world, fake: fake, dir: dir}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Pool.Run(ctx)
		}()
		s.stop = func() {
			stop()
			<-done
			s.must(s.Close(context.Background()))
		}
		story(s)
		s.stop()
		if left, err := fake.List(context.Background()); err != nil || len(left) > 0 {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// spec is a run that prints a text, with its workspace at the prefix.
func (s *scene) spec(text string) sandbox.Spec {
	return sandbox.Spec{
		Profile: "p", RootFS: sandbox.RootFS{Host: true}, Limits: sandbox.Limits{Log: 1 << 20},
		Process: sandbox.Process{Argv: []string{"echo", text}, Dir: "/workspace"},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: s.dir, Rel: "."}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
	}
}

// expect opens a shelf and lets it be filled.
func (s *scene) expect(spec sandbox.Spec) {
	s.Expect("o", spec)
	synctest.Wait()
}

// later lets time go by in which shelves are looked at.
func (s *scene) later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *scene) ready(want int) {
	s.Helper()
	got := 0
	for _, shelf := range s.Shelves() {
		got += shelf.Ready
	}
	if got != want {
		s.Errorf("%d are ready, want %d: %+v", got, want, s.Shelves())
	}
}

// trouble checks that a shelf says what is wrong.
func (s *scene) trouble(want string) {
	s.Helper()
	for _, shelf := range s.Shelves() {
		if strings.Contains(shelf.Trouble, want) && shelf.Trouble != "" {
			return
		}
	}
	s.Errorf("no shelf says %q: %+v", want, s.Shelves())
}

// carries takes a run through a sandbox, as a watcher does, and returns what its agent said.
func (s *scene) carries(id sandbox.SandboxID, spec sandbox.Spec) string {
	s.Helper()
	ctx := s.Context()
	h, err := s.Create(ctx, id, spec)
	s.must(err)
	s.must(s.Start(ctx, h))
	a, err := s.Open(ctx, h, "")
	s.must(err)
	_, err = s.Attest(ctx, h)
	s.must(err)
	s.must(a.Release(ctx))
	s.must(a.Input().Close())
	said, held := "", ""
	for chunk := range a.Output() {
		if chunk.Stream == sandbox.Stdout {
			said += string(chunk.Bytes)
		} else {
			held += string(chunk.Bytes)
		}
	}
	exit, err := a.Wait(ctx)
	s.must(err)
	if exit.Code != 0 || !strings.HasPrefix(held, runfile.Holding) {
		s.Errorf("exit %+v, init said %q", exit, held)
	}
	s.must(a.Close())
	s.must(s.Remove(ctx, h))
	s.must(s.Release(ctx, id))
	return said
}

// TestARunFindsASandboxReady: nothing of the launcher is between the claim and the look, and the sandbox is not used again.
func TestARunFindsASandboxReady(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		s.ready(2)
		seen := map[sandbox.SandboxID]bool{}
		for i := range 5 {
			spec := s.spec(fmt.Sprint("run ", i))
			starts := s.world.Calls(sandboxtest.OpStart)
			id := s.Claim("o", spec)
			if id == "" || seen[id] {
				t.Fatalf("run %d has the sandbox %q", i, id)
			}
			seen[id] = true
			if said := s.carries(id, spec); said != fmt.Sprintf("run %d\n", i) {
				t.Errorf("run %d said %q", i, said)
			}
			if more := s.world.Calls(sandboxtest.OpStart) - starts; more != 0 {
				t.Errorf("run %d started %d sandboxes", i, more)
			}
			s.later(time.Second)
			s.ready(2)
		}
		if made := s.world.Calls(sandboxtest.OpCreate); made != 0 {
			t.Errorf("%d were made by runs", made)
		}
	})
}

// TestAShelfIsOneOutboxes: another outbox, profile or prefix has none of what is ready.
func TestAShelfIsOneOutboxes(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		other, elsewhere := s.spec(""), s.spec("")
		other.Profile, elsewhere.Mounts[0].Prefix = "q", "/"
		for what, id := range map[string]sandbox.SandboxID{
			"another outbox": s.Claim("other", s.spec("")), "another profile": s.Claim("o", other), "another prefix": s.Claim("o", elsewhere),
		} {
			if id != "" {
				t.Errorf("%s has the sandbox %s", what, id)
			}
		}
	})
}

// TestNothingIsMadeAheadWhileRunsStart: a claim, and a sandbox that a run makes, keep the pool from work, and not for ever: a parent's
// file system may hang.
func TestNothingIsMadeAheadWhileRunsStart(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		id := s.Claim("o", s.spec("x"))
		synctest.Wait()
		s.ready(1)
		s.later(time.Second)
		s.ready(2)
		s.must(s.Release(s.Context(), id))
		creating, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.world.Before(sandboxtest.OpCreate, func() { close(creating); <-goOn })
		go func() {
			defer close(done)
			s.carries(sandbox.NewSandboxID(), s.spec("cold"))
		}()
		<-creating
		id = s.Claim("o", s.spec("y"))
		s.later(time.Second)
		s.ready(1)
		s.later(2 * time.Second)
		s.ready(2)
		s.must(s.Release(s.Context(), id))
		close(goOn)
		<-done
	})
}

// TestASandboxThatEnds is dropped, never given to a run, and not made again at once.
func TestASandboxThatEnds(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		all, err := s.fake.List(s.Context())
		s.must(err)
		for _, h := range all {
			s.world.Vanish(h)
		}
		synctest.Wait() // the news has come
		if id := s.Claim("o", s.spec("")); id != "" {
			t.Errorf("a run has the sandbox %s, which has ended", id)
		}
		s.ready(0)
		s.later(time.Minute)
		s.ready(2)
	})
}

// TestALauncherThatMakesNone says why, is tried again, and keeps no run from its sandbox.
func TestALauncherThatMakesNone(t *testing.T) {
	for _, op := range []sandboxtest.Op{sandboxtest.OpPrepare, sandboxtest.OpStart, sandboxtest.OpOpen, sandboxtest.OpAttest} {
		pooled(t, usual, func(s *scene) {
			s.world.Fail(op, 1, errors.New("the engine is away"))
			s.expect(s.spec(""))
			s.trouble("the engine is away")
			if id := s.Claim("o", s.spec("")); id != "" && op == sandboxtest.OpPrepare {
				t.Errorf("%s: a run has the sandbox %s", op, id)
			} else {
				s.must(s.Release(s.Context(), id))
			}
			s.later(time.Minute)
			s.ready(2)
		})
	}
}

// TestARunThatCannotBeBroughtIn gets another sandbox, of the id that the journal has bound to it.
func TestARunThatCannotBeBroughtIn(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		s.world.Fail(sandboxtest.OpFurnish, 1, errors.New("the slot is gone"))
		id := s.Claim("o", s.spec("x"))
		if said := s.carries(id, s.spec("x")); said != "x\n" {
			t.Errorf("the run said %q", said)
		}
		if made := s.world.Calls(sandboxtest.OpCreate); made != 1 {
			t.Errorf("%d were made by the run", made)
		}
	})
}

// TestARequestIsRefusedAsEver: what it has wrong is its own, and costs the sandbox.
func TestARequestIsRefusedAsEver(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		wrong := s.spec("x")
		wrong.Mounts[0].Source.Rel = "missing"
		id := s.Claim("o", wrong)
		_, err := s.Create(s.Context(), id, wrong)
		if refusal, ok := errors.AsType[*delegation.Refusal](err); !ok || refusal.Code != delegation.CodeWorkspace {
			t.Errorf("Create: %v", err)
		}
		s.must(s.Release(s.Context(), id))
		next := s.Claim("o", s.spec("y"))
		if next == id {
			t.Error("the sandbox of a refused request is used again")
		}
		s.must(s.Release(s.Context(), next))
	})
}

// TestWhatCannotBeMadeAhead is what a sandbox gets only when it is made.
func TestWhatCannotBeMadeAhead(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		image := s.spec("")
		image.RootFS = sandbox.RootFS{Image: "agent"}
		s.expect(image)
		if id := s.Claim("o", image); id != "" {
			t.Errorf("%+v has the sandbox %s", image, id)
		}
		s.ready(0)
	})
}

// TestADoorComesWithItsRun: a request that has no door yet finds the sandbox in which there is a place for one, and one of another
// profile's sockets does not.
func TestADoorComesWithItsRun(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		asked := s.spec("hello")
		asked.Door, asked.Sockets = &sandbox.Door{}, []sandbox.Socket{{Host: "/one", Target: "/run/model/socket", Port: 8000}}
		s.expect(asked)
		s.ready(2)
		other := asked
		other.Sockets = []sandbox.Socket{{Host: "/one", Target: "/run/other/socket"}}
		if id := s.Claim("o", other); id != "" {
			t.Errorf("a run with other sockets has the sandbox %s", id)
		}
		id := s.Claim("o", asked)
		opened := asked
		opened.Sockets = append(slices.Clone(asked.Sockets), sandbox.Socket{Host: "/door/sock", Target: sandbox.DoorSocket, Port: 8080, Lasting: true})
		if again := s.Claim("o", opened); id == "" || again == "" {
			t.Errorf("before its door is open a run has the sandbox %q, and after that %q", id, again)
		} else {
			s.must(s.Release(s.Context(), again))
		}
		if said := s.carries(id, opened); said != "hello\n" {
			t.Errorf("the run said %q", said)
		}
	})
}

// TestClosedPoolsGiveNothing: a claim after the end finds none, and what is claimed can still be let go of.
func TestClosedPoolsGiveNothing(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		id := s.Claim("o", s.spec(""))
		s.stop()
		if late := s.Claim("o", s.spec("")); late != "" {
			t.Errorf("a closed pool gave %s", late)
		}
		s.must(s.Release(context.Background(), id))
	})
}

// TestARunThatGivesUpWhileItIsBroughtIn: the sandbox stays until the call returns, which may still write into it, and goes then.
func TestARunThatGivesUpWhileItIsBroughtIn(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		hangs, goOn := make(chan struct{}), make(chan struct{})
		s.world.Before(sandboxtest.OpFurnish, func() { close(hangs); <-goOn })
		id := s.Claim("o", s.spec("x"))
		result := make(chan error)
		go func() {
			_, err := s.Create(s.Context(), id, s.spec("x"))
			result <- err
		}()
		<-hangs
		s.must(s.Release(s.Context(), id))
		if removed := s.world.Calls(sandboxtest.OpRemove); removed != 0 {
			t.Error("the sandbox was removed although a call may still write into it")
		}
		close(goOn)
		if err := <-result; err == nil {
			t.Error("a run has a sandbox that it had let go of")
		}
		if removed := s.world.Calls(sandboxtest.OpRemove); removed != 1 {
			t.Errorf("%d sandboxes were removed", removed)
		}
		s.world.Before(sandboxtest.OpFurnish, nil)
	})
}

// TestACreateThatIsMadeAgain does not bring a run into a sandbox that has a part of it already.
func TestACreateThatIsMadeAgain(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		s.world.FailAfter(sandboxtest.OpFurnish, 1, errors.New("the slot is gone"))
		s.world.Fail(sandboxtest.OpRemove, 1, sandbox.ErrUnavailable)
		id := s.Claim("o", s.spec("x"))
		if _, err := s.Create(s.Context(), id, s.spec("x")); !sandbox.IsUnavailable(err) {
			t.Errorf("Create: %v", err)
		}
		if said := s.carries(id, s.spec("x")); said != "x\n" {
			t.Errorf("the run said %q", said)
		}
		if tried := s.world.Calls(sandboxtest.OpFurnish); tried != 1 {
			t.Errorf("it was brought in %d times", tried)
		}
	})
}

// TestAnOldSandboxIsMadeAnew, before its init ends its hold by itself.
func TestAnOldSandboxIsMadeAnew(t *testing.T) {
	pooled(t, usual, func(s *scene) {
		s.expect(s.spec(""))
		s.later(runfile.HoldTime/2 + time.Minute)
		s.ready(2)
		for _, shelf := range s.Shelves() {
			if shelf.Oldest > time.Hour {
				t.Errorf("one is %v old", shelf.Oldest)
			}
		}
	})
}
