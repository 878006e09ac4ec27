package sandboxtest

import (
	"os"
	"testing"

	"torno/sandbox"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
)

// Harness describes a launcher to the suite.
type Harness struct {
	// Name is the launcher and its way of working, as in "docker by handle". The first word names the launcher's column
	// in test/prober/verdicts.md.
	Name string

	// New makes a launcher for an installation. A second launcher of the same name is like a watcher after a crash: it
	// knows nothing of the first launcher but finds its sandboxes. Launchers of different names share the site and
	// nothing else. All workspaces and contexts lie beneath the directory base.
	New func(t *testing.T, base, installation string) sandbox.Launcher

	// Crash ends a launcher as `kill -9` ends its process: connections and locks are gone, and nothing was tidied up.
	Crash func(sandbox.Launcher)

	// Real means that a kernel runs argv. Then agents are scripts for /bin/sh, and the suite also tries the launcher's
	// guarantees from inside. Otherwise argv is a word of the fake.
	Real bool

	// Beside means that another harness tests the same launcher in another way, and already shows that programs can
	// install things in its sandboxes.
	Beside bool

	// Controls makes the weak places for a Real launcher: places without its walls. There the prober shows that its
	// probes are alive. Each place sees the host's directory dir at its own path, and the workspace in it at
	// /workspace.
	Controls func(t *testing.T, dir string) Controls

	// Adjust, if set, changes a spec of the suite so that it fits the launcher, for example by another root filesystem.
	Adjust func(t *testing.T, spec *sandbox.Spec)
}

// Controls holds the weak places of a case, which have no walls.
type Controls struct {
	// Ground tells the prober where the weak places lie, and describes a neighbour that stays there until the test
	// ends.
	Ground inside.Ground
	// Try runs the prober in every weak place. It returns the outcomes by the wall that is taken away there.
	Try func(ground string) map[string][]inside.Outcome
	// Run runs the prober in the weak place that has every power and no filter.
	Run func(args ...string)
	// Open starts a container that shows directories at their own paths, with everything that is or will be mounted
	// below them. It returns where the container's root is.
	Open func(dirs ...string) (root string)
}

// suite is one launcher under test.
type suite struct {
	Harness
	base     string
	launcher sandbox.Launcher
	prober   string // the prober's file, for a real launcher
}

// ours is the installation of most cases.
const ours = "ours"

// testCase is one promise of the contract.
type testCase struct {
	name string
	run  func(*bench)
}

// Suite tests the contract of every launcher. Each case uses its own keys, so all cases can run at once; `go test
// -parallel` says how many do.
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

// newBase makes the directory for workspaces. The weak places make files there that belong to root. If root started the
// test as an ordinary user, root removes these files itself.
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
