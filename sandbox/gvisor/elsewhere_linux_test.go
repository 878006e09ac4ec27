package gvisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
)

// TestASandboxInAnotherDirectoryKeepsItsSlot: while its directory is away it lives on, and no other sandbox gets its user id. Nothing is
// purged meanwhile either: its processes and its control group are here.
func TestASandboxInAnotherDirectoryKeepsItsSlot(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	spec := specOf(base, "", "/bin/true")
	spec.RootFS = sandbox.RootFS{Host: true}
	slotOf := func(l *gvisor.Launcher) int {
		t.Helper()
		made, err := l.Create(t.Context(), sandbox.NewSandboxID(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Remove(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		return made.Slot
	}
	free := h.launch(base, "ours")
	first := slotOf(free)
	h.crash(free)

	o := h.options(base, "ours")
	o.Known = []sandbox.Handle{{Launcher: gvisor.Name, ID: string(sandbox.NewSandboxID()), Site: "another", Sandbox: sandbox.NewSandboxID(), Slot: first}}
	l, err := gvisor.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if slotOf(l) == first {
		t.Errorf("slot %d is in the hands of two", first)
	}
	if err := errors.Join(l.Close(), o.Bases.Close()); err != nil {
		t.Error(err)
	}

	options := gvisor.Options{Options: local.Options{Installation: o.Installation, StateDir: o.StateDir, Known: o.Known}}
	if err := gvisor.Purge(t.Context(), options); !errors.Is(err, sandbox.ErrOtherSite) {
		t.Errorf("a purge beside it: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(o.StateDir, gvisor.Name, "site")); err != nil {
		t.Fatal(err)
	}
	if err := gvisor.Purge(t.Context(), options); !errors.Is(err, sandbox.ErrOtherSite) {
		t.Errorf("a purge where there is no directory: %v", err)
	}
	options.Known = nil
	if err := gvisor.Purge(t.Context(), options); err != nil {
		t.Error(err)
	}
}
