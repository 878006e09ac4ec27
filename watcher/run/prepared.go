package run

import (
	"context"
	"errors"
	"maps"
	"slices"

	"torno/sandbox"
)

// Prepared are the sandboxes of a launcher that were made ahead of runs. The launcher's Create brings a run into a claimed one.
type Prepared interface {
	// Claim takes one for a run of an outbox, and returns its id; "" where none is ready.
	Claim(outbox string, spec sandbox.Spec) sandbox.SandboxID
	// Release gives up one that was claimed and that no run was brought into. It does nothing for any other sandbox.
	Release(context.Context, sandbox.SandboxID) error
}

// claim returns the id of the sandbox that a run is to have: one that was made ahead, or a new one. Again after a sandbox that broke in
// its hold the run makes its own: what is ready may have broken with it.
func (r *runner) claim(again bool) sandbox.SandboxID {
	if ready := r.runs.Prepared[r.launcherName]; ready != nil && !again {
		if id := ready.Claim(r.request.Outbox, r.spec); id != "" {
			return id
		}
	}
	return sandbox.NewSandboxID()
}

// claimed is the resource that a claimed sandbox is for its run.
type claimed map[string]Prepared

var _ Resource = claimed{}

func (claimed) Ready(context.Context, Holder) error                         { return nil }
func (claimed) Acquire(context.Context, *Holder) error                      { return nil }
func (claimed) Attested(context.Context, Holder, sandbox.Attestation) error { return nil }
func (claimed) End(context.Context, Holder) (Used, error)                   { return Used{}, nil }

// Release gives a sandbox up that no run was brought into.
func (c claimed) Release(ctx context.Context, id sandbox.SandboxID) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		errs = append(errs, c[name].Release(ctx, id))
	}
	return errors.Join(errs...)
}
