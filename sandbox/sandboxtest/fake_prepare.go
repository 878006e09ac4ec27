package sandboxtest

import (
	"context"
	"fmt"

	"torno/sandbox"
)

// CanPrepare returns nil: sandboxes can always be made ahead.
func (f *Fake) CanPrepare() error { return nil }

// Prepare makes a sandbox ahead of a run.
func (f *Fake) Prepare(ctx context.Context, id sandbox.SandboxID, shape sandbox.Shape) (h sandbox.Handle, err error) {
	err = f.do(ctx, OpPrepare, func() error {
		h = f.world.add(newBox(f.world, f.installation, id, shape.Spec())).handle()
		return nil
	})
	return h, err
}

// Furnish brings a run into a sandbox whose init holds.
func (f *Fake) Furnish(ctx context.Context, h sandbox.Handle, spec sandbox.Spec) (sandbox.Handle, error) {
	err := f.do(ctx, OpFurnish, func() error {
		b, err := f.find(h)
		if err != nil {
			return err
		}
		if err := f.admit(spec); err != nil {
			return err
		}
		own, err := clone(spec)
		if err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.held {
			return fmt.Errorf("furnish %s: %w", h.ID, sandbox.ErrNotHeld)
		}
		b.spec = own
		return nil
	})
	return h, err
}

// Weigh returns one megabyte for any sandbox.
func (f *Fake) Weigh(sandbox.Handle) int64 { return mib }
