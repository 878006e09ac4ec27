package processes

import (
	"slices"

	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// Wanted is the expected state of a finished sandbox.
type Wanted struct {
	Identity attest.Identity
	Mounts   []attest.Want // by their targets
	Private  []string      // the sandbox's own writable file systems
	Limits   sandbox.Limits
	Floors   []string // targets where a mount of ours lies until a run's mount covers it
}

// With returns the expected state after mounts were brought in. A mount at a floor may lie over the mount that was
// there.
func (w *Wanted) With(mounts []attest.Want, floors map[string]uint64) *Wanted {
	more := *w
	more.Floors = nil
	more.Mounts = slices.DeleteFunc(slices.Clone(w.Mounts), func(old attest.Want) bool { return slices.Contains(w.Floors, old.Target) })
	for _, want := range mounts {
		want.Over = floors[want.Target]
		more.Mounts = append(more.Mounts, want)
	}
	return &more
}

// Subject is the init of a container that holds, with the values to compare it with.
type Subject struct {
	Container string
	Pid       int // as the engine tells it
	Program   *attest.Program
	Wanted    *Wanted
	Enforced  map[sandbox.GuaranteeKey]bool // the limits that the engine and its kernel have
	Trial     bool                          // in the trial, a missing limit that the engine claims is a finding, not an error
}

// Seen is the result of a look.
type Seen struct {
	Attestation   sandbox.Attestation
	Death         *attest.Death     // shows init's end; nil if the kernel has no such handles
	SwapUncounted bool              // only in a trial: the kernel does not count swap, whatever the engine says
	Floors        map[string]uint64 // the unique numbers of the mounts at the floors, by target
}
