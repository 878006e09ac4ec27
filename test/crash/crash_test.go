package crash

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"torno/test/attack"
	"torno/test/house"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m, "crashpoints")) }

// TestKilledAtEveryPoint kills the watcher once at each point, and at some of them a second one that was recovering.
func TestKilledAtEveryPoint(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) { killAt(t, sandbox, slices.Collect(maps.Keys(stories))) })
}

// launching are the points beside what an ordinary user's launcher does otherwise than root's: it mounts when it starts, and
// holds for that what it found when it made the sandbox.
var launching = []string{
	"launch.created", "launch.noted", "launch.started", "recover.gone", "attempt.recorded", "run.ending",
	"follow.forced", "end.removed", "recover.removed",
}

// TestKilledForAnOrdinaryUser kills it there, and at length everywhere.
func TestKilledForAnOrdinaryUser(t *testing.T) {
	points := launching
	if attack.Long() {
		points = slices.Collect(maps.Keys(stories))
	}
	killAt(t, house.Ordinary, points)
}

func killAt(t *testing.T, sandbox string, points []string) {
	house.Need(t, sandbox)
	var kills atomic.Int64
	t.Run("at", func(t *testing.T) {
		for _, point := range points {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				kills.Add(stories[point].tell(t, point, sandbox))
			})
		}
	})
	t.Logf("%d points, and %d watchers killed at them", len(points), kills.Load())
}

// tell kills the watcher at a point, starts another one and looks at what came of it. It returns how many were killed.
func (told *story) tell(t *testing.T, point, sandbox string) (kills int64) {
	s := newScene(t, sandbox)
	if told.before != nil {
		told.before(s)
	}
	s.Env = []string{fmt.Sprintf("TORNO_CRASH=%s:%d", point, max(told.pass, 1))}
	if told.before != nil {
		told.during(s) // what is to be found is there before the watcher is
		s.Launch()
	} else {
		s.Launch()
		told.during(s)
	}
	s.die()
	if told.after != nil {
		told.after(s)
	}
	s.Env = nil
	s.Start()
	told.done(s)
	s.nothingIsLeft()
	s.onceEach()
	return s.kills
}

// newScene has no watcher yet.
func newScene(t *testing.T, sandbox string) *scene {
	t.Helper()
	plan := house.Plan{
		Sandbox: sandbox, Later: true, Offers: ", again", Profiles: "  again:\n    attempts: 2\n    timeout: {default: 30s, min: 1s, max: 5m}",
	}
	s := &scene{}
	if sandbox == house.Docker {
		s.proxy = house.NewProxy(t, house.NeedEngine(t))
		plan.Host = s.proxy.Host()
	}
	s.House = house.New(t, plan)
	return s
}

// nothingIsLeft wants no sandbox, no temporary file and no note of a run.
func (s *scene) nothingIsLeft() {
	s.Helper()
	s.Eventually("no sandbox is left", func() bool { return len(s.Sandboxes()) == 0 })
	s.Eventually("nothing of any sandbox is left", func() bool { return len(s.Remains()) == 0 })
	notes, err := os.ReadDir(filepath.Join(s.Dir, "state", "runs"))
	s.Must(err)
	if len(notes) > 0 {
		s.Errorf("notes are left: %v", notes)
	}
	s.Eventually("no temporary file is left in the outbox", func() bool {
		left, err := filepath.Glob(s.Path(".*"))
		s.Must(err)
		return len(left) == 0
	})
}

// onceEach asks who starts sandboxes: no key was started more than once. A sandbox that was made and never noted may be
// made anew, since nothing of it ran.
func (s *scene) onceEach() {
	s.Helper()
	for run, starts := range s.Starts() {
		if starts > 1 {
			s.Errorf("run %s was started %d times", run, starts)
		}
	}
}
