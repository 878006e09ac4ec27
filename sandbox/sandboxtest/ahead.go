package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/internal/mounts"
	"torno/internal/retry"
	"torno/internal/trust"
	"torno/sandbox"
	"torno/sandbox/pool"
	"torno/test/prober/verdict"
)

// preparing is a launcher that can make sandboxes ahead of runs.
type preparing interface {
	sandbox.Launcher
	pool.Preparer
}

// ahead is a launcher whose sandboxes were all made ahead of runs, as far as that is possible: Create waits until a
// sandbox is ready.
type ahead struct{ *pool.Pool }

// newAhead makes a launcher's sandboxes ahead of runs until the test ends.
func newAhead(t *testing.T, l sandbox.Launcher) *ahead {
	t.Helper()
	can, ok := l.(preparing)
	if !ok {
		t.Fatalf("%T cannot make sandboxes ahead of runs", l)
	}
	if err := can.CanPrepare(); err != nil {
		t.Skip("NOT SHOWN HERE: ", err)
	}
	a := &ahead{pool.New(l, can, pool.Options{Size: 1, Idle: time.Second, Most: 16})}
	filling, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(filling)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Create brings a run into a sandbox that was made ahead. That sandbox has its own id, not the given id.
func (a *ahead) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	if _, err := sandbox.ShapeOf(spec); err != nil || !hasPrograms(spec) {
		return a.Pool.Create(ctx, id, spec)
	}
	outbox := outboxOf(spec)
	for {
		if id = a.Claim(outbox, spec); id != "" {
			break
		}
		shelves := a.Shelves()
		if neverMade(shelves, outbox) {
			return a.Pool.Create(ctx, sandbox.NewSandboxID(), spec)
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return sandbox.Handle{}, fmt.Errorf("%w: nothing was made ahead: %+v", err, shelves)
		}
	}
	h, err := a.Pool.Create(ctx, id, spec)
	if err != nil {
		err = errors.Join(err, a.Release(context.WithoutCancel(ctx), id)) // a run would release it too
	}
	return h, err
}

// outboxOf names the outbox whose shelves a spec uses. Each set of programs has an outbox of its own, so that the case
// can tell which programs caused trouble on a shelf.
func outboxOf(spec sandbox.Spec) string {
	name := "suite"
	for _, m := range spec.Mounts {
		if m.Programs {
			name += " " + m.Source.Base
		}
	}
	return name
}

// neverMade reports whether an outbox's shelves hold programs that the launcher refuses both ahead of a run and for a
// run. The run is then told why.
func neverMade(shelves []pool.Shelf, outbox string) bool {
	return slices.ContainsFunc(shelves, func(s pool.Shelf) bool {
		return s.Outbox == outbox && strings.Contains(s.Trouble, mounts.ErrNotApart.Error())
	})
}

// hasPrograms reports whether the profile's programs can be used. If not, nothing is made ahead, and the run is told
// what is wrong.
func hasPrograms(spec sandbox.Spec) bool {
	for _, m := range spec.Mounts {
		if m.Programs && trust.Places().Check(m.Source.Base) != nil {
			return false
		}
	}
	return true
}

// cold lists the cases in which Create itself must make the sandbox, or is called again with the same id. SuiteAhead
// leaves them out.
var cold = []string{
	"create runs nothing", "create again returns what is there", "create with a cancelled context leaves nothing",
	"create that is cancelled under way leaves nothing",
}

var aheadLifecycle = slices.DeleteFunc(slices.Clone(lifecycleCases), func(c testCase) bool { return slices.Contains(cold, c.name) })

// SuiteAhead tests the part of the contract that holds for a sandbox made ahead of its run: everything that a run may
// notice. The launcher must be able to make sandboxes ahead. After a restart there is no difference any more, so Suite
// tests that part.
func SuiteAhead(t *testing.T, h Harness) {
	s := &suite{Harness: h, base: newBase(t)}
	l := h.New(t, s.base, ours)
	t.Run("ahead", func(t *testing.T) {
		s.launcher = newAhead(t, l)
		s.runCases(t, aheadLifecycle, outputCases, processCases, mountCases, programCases)
	})
	t.Run("nothing is left", func(t *testing.T) {
		if left := s.bench(t).list(l); len(left) > 0 {
			t.Errorf("sandboxes that nobody removed: %v", left)
		}
	})
}

// runCases runs tables of cases for every launcher. For a real launcher it also runs the cases that look at its walls
// from inside.
func (s *suite) runCases(t *testing.T, tables ...[]testCase) {
	t.Run("contract", func(t *testing.T) { s.run(t, tables...) })
	if s.Real {
		s.prober = verdict.Build(t)
		t.Run("wall", func(t *testing.T) { s.run(t, wallCases, limitCases, ownerCases, rightsCases, programWallCases) })
		t.Run("tools", func(t *testing.T) { s.run(t, toolCases) })
		if !s.Beside {
			t.Run("installs", func(t *testing.T) { s.run(t, installCases) })
		}
	}
}
