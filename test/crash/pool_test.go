package crash

import (
	"strings"
	"syscall"
	"testing"

	"torno/test/house"
)

// TestKilledWithAPool kills the watcher while sandboxes are made ahead of runs, when a run has claimed one, and on that run's way. The
// next watcher removes what no run has, and each run is run once.
func TestKilledWithAPool(t *testing.T) {
	house.Need(t, house.Docker)
	withPool := func(p *house.Plan) { p.Top, p.Mounts = "pool: {size: 2}", "by-handle" }
	for point, done := range map[string]func(*scene){
		"pool.prepared": says("hello\n"), "pool.started": says("hello\n"), "pool.ready": says("hello\n"), // nothing is ready yet
		"pool.furnished:1": says("hello\n"), "launch.attested:2": says("hello\n"), "launch.released:2": says("hello\n"), "launch.word:2": lostWord,
		"end.removed:2": says("hello\n"),
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			busy <- struct{}{}
			defer func() { <-busy }()
			s := newScene(t, house.Docker, withPool)
			s.Env = []string{"TORNO_CRASH=" + point}
			s.Launch()
			if !strings.HasPrefix(point, "pool.") || point == "pool.furnished:1" {
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

// lostWord is a run of which nobody knows whether it had the word.
func lostWord(s *scene) {
	s.Helper()
	s.Response(s.ask)
	s.began(0)
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
