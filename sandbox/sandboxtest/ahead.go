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

// ahead is a launcher whose sandboxes were all made ahead, as far as that is possible: Create waits until one is ready.
type ahead struct{ *pool.Pool }

// newAhead has a launcher's sandboxes made ahead until the test ends.
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

// Create brings a run into a sandbox that is there. That one has an id of its own.
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
		err = errors.Join(err, a.Release(context.WithoutCancel(ctx), id)) // as its run does
	}
	return h, err
}

// outboxOf names the outbox whose shelves a spec uses. Each set of programs has its own, so that what its shelves meet can be told.
func outboxOf(spec sandbox.Spec) string {
	name := "suite"
	for _, m := range spec.Mounts {
		if m.Programs {
			name += " " + m.Source.Base
		}
	}
	return name
}

// neverMade says whether an outbox's shelves hold programs that the launcher takes neither ahead nor for a run. The run hears why.
func neverMade(shelves []pool.Shelf, outbox string) bool {
	return slices.ContainsFunc(shelves, func(s pool.Shelf) bool {
		return s.Outbox == outbox && strings.Contains(s.Trouble, mounts.ErrNotApart.Error())
	})
}

// hasPrograms says whether the profile's programs can be had. Without them nothing is made ahead, and the run hears what is wrong.
func hasPrograms(spec sandbox.Spec) bool {
	for _, m := range spec.Mounts {
		if m.Programs && trust.Places().Check(m.Source.Base) != nil {
			return false
		}
	}
	return true
}

// cold are the promises of a Create that makes a sandbox, and of one that is made anew for a sandbox's id.
var cold = []string{
	"create runs nothing", "create again returns what is there", "create with a cancelled context leaves nothing",
	"create that is cancelled under way leaves nothing",
}

var aheadLifecycle = slices.DeleteFunc(slices.Clone(lifecycleCases), func(c testCase) bool { return slices.Contains(cold, c.name) })

// SuiteAhead is the part of the contract that a sandbox keeps that was made ahead of its run: all that a run may notice. The
// launcher is one that can make them. After a restart there is no difference any more, so the Suite has that.
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

// runCases runs tables of cases of every launcher, and of a real one those that look at its walls from inside.
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
