package sandboxtest

import (
	"os"
	"testing"

	"torno/sandbox"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
)

// Harness is what the suite must know of a launcher.
type Harness struct {
	// Name is the launcher and its way, as in "docker by handle". The first word is its column in test/prober/verdicts.md.
	Name string

	// New makes a launcher of an installation. The second one of the same name is what a watcher is after a crash: it
	// knows nothing of the first but finds its sandboxes. Launchers of two names share the site and nothing else.
	// All workspaces and context lie beneath the directory base.
	New func(t *testing.T, base, installation string) sandbox.Launcher

	// Crash ends a launcher as `kill -9` ends its process: connections and locks are gone, nothing was tidied up.
	Crash func(sandbox.Launcher)

	// Real says that argv is run by a kernel. Agents are then scripts of /bin/sh, and the suite also tries from inside
	// what the launcher says that it enforces. Otherwise argv are words of the fake.
	Real bool

	// Beside says that this is another way of a launcher of which a harness shows already that programs install things there.
	Beside bool

	// Controls are for a Real launcher: places without its walls, in which the prober shows that its probes are alive.
	// Each of them sees the host's directory dir at its own path, and the workspace in it at /workspace.
	Controls func(t *testing.T, dir string) Controls

	// Adjust, when it is there, changes a spec of the suite into one that fits: another root filesystem, for example.
	Adjust func(t *testing.T, spec *sandbox.Spec)
}

// Controls are the weak places of a case.
type Controls struct {
	// Ground is where the places of a case are, and a neighbour that stays there until the test ends.
	Ground inside.Ground
	// Try runs the prober in every place, and tells what came of it by what is taken away there.
	Try func(ground string) map[string][]inside.Outcome
	// Run runs the prober in the place that has every power and no filter.
	Run func(args ...string)
	// Open starts a container that shows directories at their own paths, with all that is and will be mounted below them.
	// It returns where its root is.
	Open func(dirs ...string) (root string)
}

// suite is one launcher under test.
type suite struct {
	Harness
	base     string
	launcher sandbox.Launcher
	prober   string // its file, for a real launcher
}

// ours is the installation of most cases.
const ours = "ours"

// testCase is one promise of the contract.
type testCase struct {
	name string
	run  func(*bench)
}

// Suite is the contract of every launcher. A case uses its own keys, so that all can run at once; `go test -parallel`
// says how many do.
func Suite(t *testing.T, h Harness) {
	s := &suite{Harness: h, base: newBase(t)}
	s.launcher = h.New(t, s.base, ours)
	s.runCases(t, lifecycleCases, siteCases, restartCases, outputCases, processCases, mountCases, programCases)
	t.Run("nothing is left", func(t *testing.T) {
		if left := s.bench(t).list(s.launcher); len(left) > 0 {
			t.Errorf("sandboxes that nobody removed: %v", left)
		}
	})
}

// newBase makes the directory for workspaces. Files that the weak places make there belong to root. Where root started the
// test as an ordinary user, root removes them.
func newBase(t *testing.T) string {
	t.Helper()
	if os.Getenv(verdict.Programs) == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "suite-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *suite) run(t *testing.T, tables ...[]testCase) {
	for _, table := range tables {
		for _, c := range table {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(s.bench(t))
			})
		}
	}
}
