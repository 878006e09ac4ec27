package crash

import (
	"strings"
	"syscall"
	"testing"

	"torno/test/attack"
	"torno/test/house"
)

// TestKilledWithAPool kills the watcher while sandboxes are made ahead of runs, when a run has claimed one, while it comes into it, and on
// that run's way. The next watcher removes what no run has, and each run is run once.
func TestKilledWithAPool(t *testing.T) {
	for _, sandbox := range house.Launchers {
		t.Run(sandbox, func(t *testing.T) { killedWithAPool(t, sandbox) })
	}
}

// pooled are the points of TestKilledWithAPool, each with the launcher that shows it: Docker those at which it does most itself, the moves of
// mounts into a container and the word. At length each launcher shows all of them, and so does Docker where there is no gVisor.
var pooled = map[string]string{
	"pool.prepared": house.GVisor, "pool.started": house.Docker, "pool.ready": house.GVisor,
	"pool.claimed:1": house.GVisor, "pool.furnished:1": house.Docker, "pool.brought:1": house.GVisor,
	"launch.attested:2": house.GVisor, "launch.released:2": house.Docker, "launch.word:2": house.Docker, "end.removed:2": house.GVisor,
}

func killedWithAPool(t *testing.T, sandbox string) {
	house.Need(t, sandbox)
	withPool := func(p *house.Plan) { p.Top, p.Mounts = "pool: {size: 2}", "by-handle" }
	for point, shows := range pooled {
		if shows != sandbox && house.HasGVisor() && !attack.Long() {
			continue
		}
		done := says("hello\n")
		switch point {
		case "pool.prepared", "pool.started", "pool.ready":
			done = ifLost(lostWord, done) // the pool's first sandboxes are made while the run is launched in one of its own
		case "launch.word:2":
			done = lostWord
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			busy <- struct{}{}
			defer func() { <-busy }()
			s := newScene(t, sandbox, withPool)
			s.Env = []string{"TORNO_CRASH=" + point}
			s.Launch()
			if !strings.HasPrefix(point, "pool.") || strings.HasSuffix(point, ":1") {
				s.Run(house.Ask{ID: "warm", Task: "echo warm"}) // it makes its own sandbox, and opens the shelf
				s.poolIsFull()
			}
			submit(hello)(s)
			s.die()
			s.Env = nil
			s.Start()
			done(s)
			s.poolIsFull()
			s.Eventually("only the pool's sandboxes are there", func() bool { ready, _ := s.pool(); return len(s.Sandboxes()) == ready })
			s.onceEach()
			s.Must(s.Signal(syscall.SIGTERM))
			s.nothingIsLeft()
		})
	}
}

// TestAFullPoolIsKilled kills a process of each sandbox that is ready, and asks for a run at once, which may still be given one of them. It is
// done once, and the pool is full again. An ordinary user has no pool.
func TestAFullPoolIsKilled(t *testing.T) {
	house.NeedGVisor(t)
	for _, part := range []string{house.Keeper, house.Sentry, house.Gofer} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, house.GVisor, func(p *house.Plan) { p.Top, p.Mounts = "pool: {size: 2}", "by-handle" })
			s.Start()
			s.Run(house.Ask{ID: "warm", Task: "echo warm"})
			s.poolIsFull()
			before := s.Sandboxes()
			for _, box := range before {
				if s.Strike(box.ID, part, syscall.SIGKILL) != 1 {
					t.Errorf("the sandbox has no process %s", part)
				}
			}
			submit(hello)(s)
			says("hello\n")(s)
			s.Eventually("all that was killed is gone", func() bool {
				for _, box := range before {
					if len(s.Processes(box.ID, "")) > 0 || len(s.Groups(box.ID)) > 0 {
						return false
					}
				}
				return true
			})
			s.poolIsFull()
			s.Eventually("only the pool's sandboxes are there", func() bool { ready, wanted := s.pool(); return ready == wanted && len(s.Sandboxes()) == ready })
			s.began(1)
			s.Must(s.Signal(syscall.SIGTERM))
			s.nothingIsLeft()
		})
	}
}

// poolIsFull waits until the sandboxes are ready that are wanted.
func (s *scene) poolIsFull() {
	s.Helper()
	s.Eventually("every sandbox is ready", func() bool { ready, wanted := s.pool(); return wanted > 0 && ready == wanted })
}

// pool is how many sandboxes are ready, and wanted.
func (s *scene) pool() (ready, wanted int) {
	status, err := s.Client.Status(s.Context())
	if err != nil {
		return 0, 0
	}
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			ready, wanted = ready+shelf.Ready, wanted+shelf.Wanted
		}
	}
	return ready, wanted
}
