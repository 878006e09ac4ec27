package docker_test

import (
	"testing"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/sandboxtest"
	"torno/test/weak"
)

func TestContractByHandle(t *testing.T) { contract(t, "docker by handle", docker.MountByHandle, false) }

func TestContractByPath(t *testing.T) { contract(t, "docker by path", docker.MountByPath, true) }

func contract(t *testing.T, name string, mode docker.MountMode, beside bool) {
	h := newHouse(t, func(o *docker.Options) { o.Mounts = mode })
	sandboxtest.Suite(t, sandboxtest.Harness{
		Name:     name,
		New:      func(_ *testing.T, base, installation string) sandbox.Launcher { return h.launch(base, installation) },
		Crash:    func(l sandbox.Launcher) { h.crash(l.(*docker.Launcher)) },
		Controls: weak.Controls,
		Real:     true,
		Beside:   beside,
	})
}

// TestContractAhead has the contract kept by sandboxes that were made ahead of their runs.
func TestContractAhead(t *testing.T) {
	h := newHouse(t, func(o *docker.Options) { o.Mounts = docker.MountByHandle })
	sandboxtest.SuiteAhead(t, sandboxtest.Harness{
		Name:     "docker by handle",
		New:      func(_ *testing.T, base, installation string) sandbox.Launcher { return h.launch(base, installation) },
		Crash:    func(l sandbox.Launcher) { h.crash(l.(*docker.Launcher)) },
		Controls: weak.Controls,
		Real:     true,
		Beside:   true,
	})
}
