package gvisor_test

import (
	"testing"

	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/sandboxtest"
	"torno/test/weak"
)

func TestContract(t *testing.T) {
	h := newHouse(t)
	sandboxtest.Suite(t, sandboxtest.Harness{
		Name:     where() + " by handle",
		New:      func(_ *testing.T, base, installation string) sandbox.Launcher { return h.launch(base, installation) },
		Crash:    func(l sandbox.Launcher) { h.crash(l.(*gvisor.Launcher)) },
		Controls: weak.Controls,
		Real:     true,
	})
}

// TestContractAhead has the contract kept by sandboxes that were made ahead of their runs.
func TestContractAhead(t *testing.T) {
	h := newHouse(t)
	sandboxtest.SuiteAhead(t, sandboxtest.Harness{
		Name:     where() + " by handle",
		New:      func(_ *testing.T, base, installation string) sandbox.Launcher { return h.launch(base, installation) },
		Crash:    func(l sandbox.Launcher) { h.crash(l.(*gvisor.Launcher)) },
		Controls: weak.Controls,
		Real:     true,
		Beside:   true,
	})
}
