package run

import (
	"context"
	"errors"
	"maps"
	"slices"

	"torno/sandbox"
)

// Prepared hands out a launcher's sandboxes that were made ahead of runs. The launcher's Create brings a run into a
// claimed sandbox.
type Prepared interface {
	// Claim takes a sandbox for a run of an outbox, and returns its id, or "" if none is ready.
	Claim(outbox string, spec sandbox.Spec) sandbox.SandboxID
	// Release gives up a claimed sandbox that no run was brought into. It does nothing for any other sandbox.
	Release(context.Context, sandbox.SandboxID) error
}

// claim returns the id of the sandbox that the run is to have: one made ahead, or a new one. After a sandbox broke in
// its hold (again), the run makes its own: the ready sandboxes may be broken, too.
func (r *runner) claim(again bool) sandbox.SandboxID {
	if ready := r.runs.Prepared[r.launcherName]; ready != nil && !again {
		if id := ready.Claim(r.request.Outbox, r.spec); id != "" {
			return id
		}
	}
	return sandbox.NewSandboxID()
}

// claimed treats a claimed sandbox as a resource of its run.
type claimed map[string]Prepared

var _ Resource = claimed{}

func (claimed) Ready(context.Context, Holder) error                         { return nil }
func (claimed) Acquire(context.Context, *Holder) error                      { return nil }
func (claimed) Attested(context.Context, Holder, sandbox.Attestation) error { return nil }
func (claimed) End(context.Context, Holder) (Used, error)                   { return Used{}, nil }

// Release gives up a sandbox that no run was brought into.
func (c claimed) Release(ctx context.Context, id sandbox.SandboxID) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		errs = append(errs, c[name].Release(ctx, id))
	}
	return errors.Join(errs...)
}
