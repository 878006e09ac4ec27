package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"torno/test/house"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m, "crashpoints")) }

// TestKilledAtEveryPoint kills the watcher once at each point, and at some of them a second one that was recovering.
func TestKilledAtEveryPoint(t *testing.T) {
	house.NeedEngine(t)
	var kills atomic.Int64
	t.Run("at", func(t *testing.T) {
		for point, told := range stories {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				kills.Add(told.tell(t, point))
			})
		}
	})
	t.Logf("%d points, and %d watchers killed at them", len(stories), kills.Load())
}

// tell kills the watcher at a point, starts another one and looks at what came of it. It returns how many were killed.
func (told *story) tell(t *testing.T, point string) (kills int64) {
	proxy := house.NewProxy(t, house.NeedEngine(t))
	h := house.New(t, house.Plan{
		Host: proxy.Host(), Later: true, Offers: ", again", Profiles: "  again:\n    attempts: 2\n    timeout: {default: 30s, min: 1s, max: 5m}",
	})
	s := &scene{House: h, proxy: proxy}
	since := time.Now().Unix()
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
	s.onceEach(since)
	return s.kills
}

// nothingIsLeft wants no sandbox, no temporary file and no note of a run.
func (s *scene) nothingIsLeft() {
	s.Helper()
	installation := s.Installation()
	s.Eventually("no sandbox is left", func() bool { return len(s.Engine.Containers(s, installation)) == 0 })
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

// onceEach asks the engine's own record: no key was started more than once. A sandbox that was made and never noted may be
// made anew, since nothing of it ran.
func (s *scene) onceEach(since int64) {
	s.Helper()
	for run, actions := range s.Engine.Events(s, s.Installation(), since, time.Now().Unix()+1) {
		if len(run) != 32 {
			continue // the trials of a start carry no key
		}
		starts := 0
		for _, action := range actions {
			if action == "start" {
				starts++
			}
		}
		if starts > 1 {
			s.Errorf("run %s was started %d times: %v", run, starts, actions)
		}
	}
}
