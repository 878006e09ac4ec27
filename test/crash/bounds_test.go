package crash

import (
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/test/house"
)

// stubborn ignores what an agent can ignore, and would run for ever.
const stubborn = `trap "" HUP INT TERM; echo hello; while :; do sleep 1; done`

// TestABoundNeedsNoWatcher: the time of a run is over while its watcher is dead, or stands still. Its sandbox ends all the same, and
// the next watcher answers so, also where the clock was set meanwhile.
func TestABoundNeedsNoWatcher(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]func(*scene) (comes func()){
		"dead and the clock is set": func(s *scene) func() {
			s.Must(syscall.Kill(s.PID(), syscall.SIGKILL))
			s.die()
			return func() { s.SetClock(5 * time.Hour); s.Start() }
		},
		"stopped": func(s *scene) func() { return s.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			house.Each(t, func(t *testing.T, sandbox string) {
				t.Parallel()
				const timeout = 10
				s := newScene(t, sandbox)
				s.Start()
				s.ask = s.Submit(house.Ask{ID: "s1", Task: stubborn, Timeout: timeout})
				s.Says(s.ask, "hello")
				comes := without(s)
				if all := s.Sandboxes(); len(all) != 1 || !all[0].Running {
					t.Fatalf("the sandbox does not outlive its watcher: %+v", all)
				}
				s.Within(timeout*time.Second+runfile.Grace+house.Patience, "the sandbox ends without a watcher", func() bool { return !s.Sandbox().Running })
				comes()
				s.Want(s.Response(s.ask), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
				s.nothingIsLeft()
				s.onceEach()
			})
		})
	}
}

// TestAStoppedKeeper: a keeper that is stopped does nothing that it is asked for. Its child is killed all the same, and its
// sandbox removed.
func TestAStoppedKeeper(t *testing.T) {
	t.Parallel()
	onGVisor(t, func(t *testing.T, sandbox string) {
		t.Parallel()
		const timeout = 10
		s := newScene(t, sandbox)
		s.Start()
		s.ask = s.Submit(house.Ask{ID: "s1", Task: stubborn, Timeout: timeout})
		s.Says(s.ask, "hello")
		run, err := s.Client.Run(s.Context(), "main/s1")
		s.Must(err)
		backstop := run.Released.Add(timeout*time.Second + runfile.Grace)
		id := s.Sandbox().ID
		if s.Strike(id, house.Keeper, syscall.SIGSTOP) != 1 {
			t.Fatal("the sandbox has no keeper")
		}
		s.Within(time.Until(backstop)-time.Second, "the child is killed before its own backstop is over", func() bool {
			return len(s.Processes(id, house.Sentry)) == 0
		})
		s.Within(2*house.Patience, "there is a response", func() bool { return s.Exists("response_s1.json") })
		s.Want(s.Response(s.ask), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
		s.nothingIsLeft()
		s.onceEach()
	})
}
