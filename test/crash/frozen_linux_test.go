package crash

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// frozen are the parts of a machine that stand still for a while.
var frozen = map[string]func(*scene, house.Sandbox) []int{
	"the watcher": func(s *scene, _ house.Sandbox) []int { return []int{s.PID()} },
	"the keeper":  func(s *scene, box house.Sandbox) []int { return s.Processes(box.ID, house.Keeper) },
	"the sandbox": (*scene).inside,
	"all of it": func(s *scene, box house.Sandbox) []int {
		return slices.Concat([]int{s.PID()}, s.Processes(box.ID, ""), s.inside(box))
	},
}

func (s *scene) inside(box house.Sandbox) []int { return s.Inside(box) }

// TestAFrozenMachine has the time of a run pass while the watcher, what stands beside the sandbox, the sandbox or all of them stand
// still. The run is told as what it is, once, and nothing of it is left.
func TestAFrozenMachine(t *testing.T) {
	t.Parallel()
	house.Each(t, func(t *testing.T, sandbox string) {
		t.Parallel()
		for name, what := range frozen {
			if name == "the keeper" && sandbox == house.Docker {
				continue // it has none
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				standsStill(t, sandbox, what)
			})
		}
	})
}

// inTime tells a story whose runs have a time. If tell returns false, the machine was too slow, and inTime tells the story again with twice
// the time. It gives up after minutes, so that runs that end too early do not go on for ever.
func inTime(t *testing.T, timeout time.Duration, tell func(time.Duration) bool) {
	for range 6 {
		if tell(timeout) {
			return
		}
		t.Logf("%v was too short", timeout)
		timeout *= 2
	}
	t.Fatal("the runs of this story ended before their time in each try")
}

func standsStill(t *testing.T, sandbox string, what func(*scene, house.Sandbox) []int) {
	inTime(t, 8*time.Second, func(timeout time.Duration) bool { return stoodStill(t, sandbox, timeout, what) })
}

func stoodStill(t *testing.T, sandbox string, timeout time.Duration, what func(*scene, house.Sandbox) []int) bool {
	s := newScene(t, sandbox)
	s.Start()
	s.ask = s.Submit(house.Ask{ID: "s1", Task: "echo began >>" + ledgerName + "; " + stubborn, Timeout: int(timeout.Seconds())})
	s.Says(s.ask, "hello")
	over := time.After(timeout)
	boxes := s.Sandboxes()
	if len(boxes) == 0 {
		return false
	}
	letOn := s.Freeze(func() []int { return what(s, boxes[0]) })
	if s.Exists("response_s1.json") {
		letOn()
		return false
	}
	<-over
	if s.Exists("response_s1.json") {
		t.Error("it is answered while its child may live")
	}
	letOn()
	s.Want(s.Response(s.ask), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	s.began(1)
	s.nothingIsLeft()
	s.onceEach()
	return true
}

// TestAFrozenWatcherTellsWhatHappened: runs end while their watcher stands still, and their time is over when it goes on. Each is
// told by when it ended, and not by when the watcher looked.
func TestAFrozenWatcherTellsWhatHappened(t *testing.T) {
	t.Parallel()
	house.Each(t, func(t *testing.T, sandbox string) {
		t.Parallel()
		inTime(t, 15*time.Second, func(timeout time.Duration) bool { return toldWhatHappened(t, sandbox, timeout) })
	})
}

// toldWhatHappened returns false where the machine was too slow for one of two runs to end in its time, beside a frozen watcher.
func toldWhatHappened(t *testing.T, sandbox string, timeout time.Duration) bool {
	s := newScene(t, sandbox)
	s.Start()
	submitted := time.Now()
	late := s.Submit(house.Ask{ID: "late", Task: long, Timeout: int(timeout.Seconds())})
	s.Says(late, "hello")
	s.ask = s.Submit(house.Ask{ID: "s1", Task: long, Timeout: int(timeout.Seconds())})
	s.Says(s.ask, "hello")
	letOn := s.Freeze(func() []int { return []int{s.PID()} })
	over := time.After(timeout)
	running := func() (n int) {
		for _, box := range s.Sandboxes() {
			if box.Running {
				n++
			}
		}
		return n
	}
	s.Touch("workspaces/s1/go")
	s.Eventually("one has ended", func() bool { return running() <= 1 })
	inTime := time.Since(submitted) < timeout
	<-over
	s.Touch("workspaces/late/go")
	s.Eventually("both have ended", func() bool { return running() == 0 })
	letOn()
	if !inTime {
		return false
	}
	says("hello\nthere\n")(s)
	s.Want(s.Response(late), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	s.began(1)
	s.nothingIsLeft()
	s.onceEach()
	return true
}

// owed is what a watcher says when it stops with an answer and a sandbox left.
const owed = "the watcher stopped and owes 1 responses; 1 sandboxes are left"

// TestAStopThatLeavesAChildSaysSo: a sandbox stands still, so that nothing can end it, and its watcher is told to stop. It gives up
// when its time is over, says what it leaves, and does not exit as if all were well. The next watcher goes on with it.
func TestAStopThatLeavesAChildSaysSo(t *testing.T) {
	t.Parallel()
	house.Each(t, func(t *testing.T, sandbox string) {
		t.Parallel()
		s := newScene(t, sandbox)
		s.Must(os.WriteFile(s.Config, []byte(strings.Replace(s.Read(s.Config), "budget: 40s", "budget: 1s", 1)), 0o600))
		s.Start()
		s.ask = s.Submit(house.Ask{ID: "s1", Task: "echo began >>" + ledgerName + "; " + stubborn, Timeout: 300})
		s.Says(s.ask, "hello")
		box := s.Sandbox()
		letOn := s.Freeze(func() []int { return s.inside(box) })
		s.Must(syscall.Kill(s.PID(), syscall.SIGTERM))
		var end *os.ProcessState
		s.Within(2*house.Patience, "the watcher stops", func() (dead bool) { end, dead = s.Dead(); return dead })
		if end.ExitCode() != 4 || !strings.Contains(s.Said(), owed) {
			t.Errorf("it ended with %s, and has to end with 4 and to say %q", end, owed)
		}
		if s.Exists("response_s1.json") || len(s.Inside(box)) == 0 {
			t.Error("it is answered, or nothing is left: nothing is shown")
		}
		letOn()
		s.Start()
		s.Want(s.Response(s.ask), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
		s.began(1)
		s.nothingIsLeft()
		s.onceEach()
	})
}
