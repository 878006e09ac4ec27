package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"torno/internal/control"
	"torno/test/attack"
	"torno/test/house"
)

// TestMain lets more stories be told at once than there are processors: those at the end mostly wait.
func TestMain(m *testing.M) {
	house.AtOnce("6")
	os.Exit(house.Main(m, "crashpoints"))
}

// TestKilledAtEveryPoint kills the watcher once at each point, and at some of them a second one that was recovering. Where there is gVisor,
// Docker shows the points beside which its launcher does something, and at length all of them.
func TestKilledAtEveryPoint(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		points := slices.Collect(maps.Keys(stories))
		if sandbox != house.GVisor && house.HasGVisor() && !attack.Long() {
			points = slices.Concat(launching, onDocker)
		}
		killAt(t, sandbox, points)
	})
}

// At the points of onDocker, too, Docker's launcher does something just before or after.
var onDocker = []string{"launch.bound", "run.opened", "run.forced", "recover.dropped", "recover.ended", "recover.site", "recover.attempted"}

// launching are the points beside what an ordinary user's launcher does otherwise than root's: it mounts when it starts, and
// holds for that what it found when it made the sandbox.
var launching = []string{
	"launch.created", "launch.started", "launch.attested", "launch.released", "launch.word", "recover.gone", "attempt.recorded", "run.ending",
	"resource.acquired", "resource.ended",
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

// TestKilledBetweenTheNoteAndTheWord kills the watcher when the journal says that a run was released, and init does not know it
// yet. It cannot be told later whether the agent ran, so the attempt is lost; where the profile allows another one, that is made.
func TestKilledBetweenTheNoteAndTheWord(t *testing.T) {
	again := story{during: submitTo("again", hello), done: func(s *scene) {
		says("hello\n")(s)
		s.attempted(2)
		s.began(1) // the first attempt's agent never got its word
	}}
	house.Everybody(t, func(t *testing.T, sandbox string) {
		house.Need(t, sandbox)
		again.tell(t, "launch.word", sandbox)
	})
}

// busy are the stories that keep a processor busy: some of them have to be told while a run lasts.
var busy = make(chan struct{}, 1+runtime.GOMAXPROCS(0))

func killAt(t *testing.T, sandbox string, points []string) {
	house.Need(t, sandbox)
	var kills atomic.Int64
	t.Run("at", func(t *testing.T) {
		for _, point := range points {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				busy <- struct{}{}
				defer func() { <-busy }()
				kills.Add(stories[point].tell(t, point, sandbox))
			})
		}
	})
	t.Logf("%d points, and %d watchers killed at them", len(points), kills.Load())
}

// tell kills the watcher at a point, starts another one and looks at what came of it. It returns how many were killed.
func (told *story) tell(t *testing.T, point, sandbox string) (kills int64) {
	var change []func(*house.Plan)
	if told.model {
		change = append(change, withModel)
	}
	if told.asks {
		change = append(change, withAsking)
	}
	s := newScene(t, sandbox, change...)
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
func newScene(t *testing.T, sandbox string, change ...func(*house.Plan)) *scene {
	t.Helper()
	plan := house.Plan{
		Sandbox: sandbox, Later: true, Offers: ", again, copies",
		Profiles: "  again:\n    attempts: 2\n    timeout: {default: 2m, min: 1s, max: 5m}\n  copies:\n    workspace: copy\n    timeout: {default: 2m, min: 1s, max: 5m}",
	}
	for _, c := range change {
		c(&plan)
	}
	s := &scene{}
	if sandbox == house.Docker {
		s.proxy = house.NewProxy(t, house.NeedEngine(t))
		plan.Host = s.proxy.Host()
	}
	s.House = house.New(t, plan)
	return s
}

// withModel adds a model gateway, and a profile whose runs have a door.
func withModel(p *house.Plan) {
	p.Top = `gateway: {routes: {model: {preset: ollama}, claude: {preset: anthropic, upstream: "http://localhost:11434", http_to: localhost, private: true, header: ""}, mind: {preset: anthropic, credential: {file: /nowhere/key}}}}`
	p.Offers += ", talks, listens, minds"
	p.Profiles += "\n  talks:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    routes: [model]"
	p.Profiles += fmt.Sprintf("\n  listens:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    routes: [claude]\n    agent: claude\n    command: [/bin/sh, -c, %q]", listens)
	p.Profiles += fmt.Sprintf("\n  minds:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    agent: claude\n    model: mind\n    command: [/bin/sh, -c, %q, claude]", mind)
}

// mind is an agent that asks no model: it answers how often it was spoken to, as its session has it.
const mind = `read -r task; echo began >>` + ledgerName + `; f=$HOME/.claude/projects/w/0-1.jsonl; mkdir -p "${f%/*}"; echo '{}' >>"$f"
echo '{"type":"system","subtype":"init","session_id":"0-1","claude_code_version":"1"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"hm"}]}}'
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"turn $(grep -c . "$f")\"}"`

// nothingIsLeft wants no sandbox, no temporary file and no note of a run.
func (s *scene) nothingIsLeft() {
	s.Helper()
	s.Eventually("no sandbox is left", func() bool { return len(s.Sandboxes()) == 0 })
	s.Eventually("nothing of any sandbox is left", func() bool { return len(s.Remains()) == 0 })
	s.Eventually("no note of a run is left", func() bool { // a watcher that starts answers, and sweeps then
		notes, err := os.ReadDir(filepath.Join(s.Dir, "state", "runs"))
		s.Must(err)
		return len(notes) == 0
	})
	if s.dismissed { // a watcher leaves a directory alone that is no outbox of its own
		return
	}
	s.Eventually("no temporary file is left in the outbox", func() bool {
		left, err := filepath.Glob(s.Path(".*"))
		s.Must(err)
		return len(left) == 0
	})
}

// onceEach wants no sandbox to have been started twice, and no attempt to have begun an agent twice. The launchers
// tell the first, the agents the second.
func (s *scene) onceEach() {
	s.Helper()
	for id, starts := range s.Starts() {
		if starts > 1 {
			s.Errorf("sandbox %s was started %d times", id, starts)
		}
	}
	runs, err := s.Client.Runs(s.Context(), control.Query{All: true, Limit: 2 * kept})
	s.Must(err)
	attempts := 0
	for _, r := range runs {
		if r.Subagent == s.ask.ID && !r.Released.IsZero() {
			attempts++
		}
	}
	if begun := s.begun(); begun > max(attempts, 1) { // a run that was pruned is not counted any more
		s.Errorf("%d agents began in %d attempts that were released", begun, attempts)
	}
}

// begun counts the agents that began.
func (s *scene) begun() int {
	s.Helper()
	ledger, err := os.ReadFile(filepath.Join(s.ask.Workspace, ledgerName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	s.Must(err)
	return strings.Count(string(ledger), "\n")
}

// began wants so many agents to have begun.
func (s *scene) began(want int) {
	s.Helper()
	if begun := s.begun(); begun != want {
		s.Errorf("%d agents began, want %d", begun, want)
	}
}

// attempted wants the answer to count so many attempts.
func (s *scene) attempted(want int) {
	s.Helper()
	if resp := s.Response(s.ask); resp.Attempt != want {
		s.Errorf("the answer is that of attempt %d, want %d", resp.Attempt, want)
	}
}

// started wants so many sandboxes to have been started.
func (s *scene) started(want int) {
	s.Helper()
	if starts := s.Starts(); len(starts) != want {
		s.Errorf("%d sandboxes were started, want %d: %v", len(starts), want, starts)
	}
}
