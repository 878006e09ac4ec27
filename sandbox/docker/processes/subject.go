package processes

import (
	"slices"

	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// Wanted is what a finished sandbox should be.
type Wanted struct {
	Identity attest.Identity
	Mounts   []attest.Want // by their targets
	Private  []string      // writable file systems of the sandbox's own
	Limits   sandbox.Limits
	Floors   []string // targets at which a mount of ours lies, over which one of a run's will
}

// With is a sandbox into which mounts were brought. A mount at a floor may lie over the one mount that was there.
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

// Subject is the init of a container that holds, and what it is compared with.
type Subject struct {
	Container string
	Pid       int // as the engine says
	Program   *attest.Program
	Wanted    *Wanted
	Enforced  map[sandbox.GuaranteeKey]bool // the limits that the engine and its kernel have
	Trial     bool                          // a limit that the engine claims, and its kernel lacks, is found out and not an error
}

// Seen is what a look has shown.
type Seen struct {
	Attestation   sandbox.Attestation
	Death         *attest.Death     // sees init's end; nil where the kernel knows no such handle
	SwapUncounted bool              // in a trial: the kernel does not count swap, whatever the engine says
	Floors        map[string]uint64 // the mounts at the floors, by target: each has a number that no other one has
}
