package crash

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// The processes that stand beside a sandbox of gVisor are killed by strangers, or by an unknown cause. The run is
// lost, which its response says with the reason, and nothing of it lives on.

// strike starts a run, kills some of its sandbox's processes and returns the sandbox.
func strike(s *scene, names ...string) (id string) {
	s.Helper()
	submit(long)(s)
	s.Says(s.ask, "hello")
	id = s.Sandbox().ID
	for _, name := range names {
		if s.Strike(id, name, syscall.SIGKILL) != 1 {
			s.Fatalf("the sandbox has no process %s", name)
		}
	}
	return id
}

func (s *scene) isLost(why string) {
	s.Helper()
	resp := s.Response(s.ask)
	s.Want(resp, delegation.StatusError, delegation.ReasonLost, -1)
	if resp.Error == nil || !strings.Contains(resp.StderrTail, why) {
		s.Errorf("the response says %+v and %q, and not %q", resp.Error, resp.StderrTail, why)
	}
	s.nothingIsLeft()
	s.onceEach()
}

// onGVisor tells a story with gVisor, and once more for an ordinary user.
func onGVisor(t *testing.T, story func(t *testing.T, sandbox string)) {
	for _, sandbox := range []string{house.GVisor, house.Ordinary} {
		t.Run(sandbox, func(t *testing.T) { story(t, sandbox) })
	}
}

func TestAKilledKeeper(t *testing.T) { onGVisor(t, aKilledKeeper) }

func aKilledKeeper(t *testing.T, sandbox string) {
	t.Run(house.Keeper, func(t *testing.T) {
		t.Parallel()
		s := newScene(t, sandbox)
		s.Start()
		strike(s, house.Keeper)
		s.isLost("its keeper was killed")
	})
	t.Run(house.Sentry, func(t *testing.T) { // its keeper has seen the end
		t.Parallel()
		s := newScene(t, sandbox)
		s.Start()
		strike(s, house.Sentry)
		resp := s.Response(s.ask)
		s.Want(resp, delegation.StatusError, delegation.ReasonSignalled, 128+int(syscall.SIGKILL))
		const why = "gVisor's kernel was killed by signal 9"
		if !slices.ContainsFunc(resp.Warnings, func(w string) bool { return strings.Contains(w, why) }) {
			s.Errorf("the response warns of %q, and not that %s", resp.Warnings, why)
		}
		s.nothingIsLeft()
		s.onceEach()
	})
}

// TestAKilledKeeperOfADeadWatcher: what neither of them sees any more is ended by the next watcher.
func TestAKilledKeeperOfADeadWatcher(t *testing.T) { onGVisor(t, aKilledKeeperOfADeadWatcher) }

func aKilledKeeperOfADeadWatcher(t *testing.T, sandbox string) {
	s := newScene(t, sandbox)
	s.Start()
	id := strike(s)
	s.Must(syscall.Kill(s.PID(), syscall.SIGKILL))
	s.Strike(id, house.Keeper, syscall.SIGKILL)
	s.die()
	s.Eventually("the keeper is dead", func() bool { return len(s.Processes(id, house.Keeper)) == 0 })
	if len(s.Processes(id, house.Sentry)) != 1 {
		t.Fatal("the sandbox does not outlive its keeper: nothing is shown")
	}
	s.Start()
	s.isLost("its keeper was killed")
}

// hasPrinted waits until a child that counts its lines has come so far. The line may have been printed when no watcher
// published it any more.
func (s *scene) hasPrinted(line int) {
	s.Helper()
	s.Eventually(fmt.Sprint("line ", line, " is printed"), func() bool {
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		var seen strings.Builder
		_ = s.Client.Output(ctx, "main/"+s.ask.ID, false, func(o control.Output) error {
			seen.Write(o.Bytes)
			return nil
		})
		lines := strings.Split(seen.String(), "\n")
		if len(lines) < 2 {
			return false
		}
		number, err := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-2], "line "))
		return err == nil && number >= line
	})
}

// TestOutputGoesOnBehindADeadWatcher kills watchers while a child prints: not a line is missing, and none is there twice.
func TestOutputGoesOnBehindADeadWatcher(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := newScene(t, sandbox)
		s.Start()
		submit(`i=0; while test $i -lt 3000; do echo line $i; i=$((i + 1)); test $((i % 10)) != 0 || sleep 0.03; done`)(s)
		for _, line := range []int{200, 900} {
			s.hasPrinted(line)
			s.Must(syscall.Kill(s.PID(), syscall.SIGKILL))
			s.die()
			s.Start()
		}
		var whole strings.Builder
		for i := range 3000 {
			fmt.Fprintln(&whole, "line", i)
		}
		s.Want(s.Response(s.ask), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if got := s.Read(s.ask.Answer); got != whole.String() {
			t.Errorf("the output has %d bytes, and %d were printed", len(got), whole.Len())
		}
		s.nothingIsLeft()
		s.onceEach()
	})
}
