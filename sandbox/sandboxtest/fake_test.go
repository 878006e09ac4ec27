package sandboxtest_test

import (
	"testing"

	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	world := sandboxtest.NewWorld(t)
	sandboxtest.Suite(t, harness(world))
}

// With chunks of 13 bytes every line is cut somewhere, also init's.
func TestFakeKeepsTheContractInSmallPieces(t *testing.T) {
	t.Parallel()
	world := sandboxtest.NewWorld(t, sandboxtest.ChunkSize(13))
	sandboxtest.Suite(t, harness(world))
}

func harness(world *sandboxtest.World) sandboxtest.Harness {
	return sandboxtest.Harness{
		New:   func(_ *testing.T, _, installation string) sandbox.Launcher { return world.Launcher(installation) },
		Crash: func(l sandbox.Launcher) { l.(*sandboxtest.Fake).Crash() },
	}
}

// TestFakeKeepsTheContractAhead has the fake's sandboxes made ahead of their runs.
func TestFakeKeepsTheContractAhead(t *testing.T) {
	t.Parallel()
	sandboxtest.SuiteAhead(t, harness(sandboxtest.NewWorld(t)))
}
