package local

import (
	"context"
	"errors"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Order describes one sandbox to be made.
type Order struct {
	ID    sandbox.SandboxID // or the name that a launcher gives to its trial
	Spec  sandbox.Spec
	Bases *mounts.Bases
}

// Making is a sandbox that is being made, with the steps that all launchers share. Until the sandbox is made, RollBack
// undoes the steps in reverse order.
type Making struct {
	Order
	Pins Pins
	Slot *mounts.Slot
	undo []func() error // the work of RollBack, the newest step last
}

// RunSteps runs steps one after the other. It stops before the next step if ctx is done.
func RunSteps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// CheckSpec refuses a spec that no launcher could make.
func (m *Making) CheckSpec(context.Context) error {
	if root := m.Spec.RootFS; root.Host == (root.Image != "") {
		return errors.New("a sandbox has either the host's programs or an image")
	}
	return checkLimits(m.Spec.Limits)
}

// PinMounts finds and opens the mounts of the spec (see Pin).
func (m *Making) PinMounts(context.Context) (err error) {
	m.Pins, err = Pin(m.Bases, m.Spec.Mounts, m.Spec.Owners)
	return err
}

// TakeSlot takes a free slot, and with it an identity from the range.
func (m *Making) TakeSlot(slots *mounts.Slots, ids UIDRange) (err error) {
	if m.Slot, err = acquire(slots, ids); err != nil {
		return err
	}
	m.OnRollBack(m.Slot.Free)
	return nil
}

// OnRollBack adds undo, which undoes the step that was just done, to the work of RollBack.
func (m *Making) OnRollBack(undo func() error) { m.undo = append(m.undo, undo) }

// RollBack undoes the steps, the newest first. If one cannot be undone, the steps before it stay: while something may
// exist that has a slot mounted, no other sandbox may get this slot. The caller can then call RollBack again.
func (m *Making) RollBack() error {
	for len(m.undo) > 0 {
		last := len(m.undo) - 1
		if err := m.undo[last](); err != nil {
			return err
		}
		m.undo = m.undo[:last]
	}
	return nil
}

// stepTime bounds a step that changes something. cleanupTime bounds the clean-up after a failure.
const (
	stepTime    = 2 * time.Minute
	cleanupTime = 30 * time.Second
)

// StepContext returns the context for a step that changes something. If the step were interrupted, we would not know
// whether it was done. So the context ignores the caller's cancel and has its own time limit. The caller's cancel
// counts before and after the step.
func StepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTime)
}

// CleanupContext returns the context for a clean-up. It goes on even if the call that failed was cancelled.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
