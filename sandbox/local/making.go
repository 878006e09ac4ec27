package local

import (
	"context"
	"errors"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Order is an order to make one sandbox.
type Order struct {
	ID    sandbox.SandboxID // or the name that a launcher gives its trial
	Spec  sandbox.Spec
	Bases *mounts.Bases
}

// Making is a sandbox that is being made: the steps that all launchers share. Until the sandbox is made, RollBack undoes the
// steps in reverse.
type Making struct {
	Order
	Pins Pins
	Slot *mounts.Slot
	undo []func() error // what RollBack does, the newest last
}

// RunSteps runs steps one after the other, and stops before a step when ctx is done.
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

// PinMounts finds and opens the files and directories that the request names.
func (m *Making) PinMounts(context.Context) (err error) {
	m.Pins, err = Pin(m.Bases, m.Spec.Mounts, m.Spec.Owners)
	return err
}

// TakeSlot takes a free slot, and with it an identity of the range.
func (m *Making) TakeSlot(slots *mounts.Slots, ids UIDRange) (err error) {
	if m.Slot, err = acquire(slots, ids); err != nil {
		return err
	}
	m.OnRollBack(m.Slot.Free)
	return nil
}

// OnRollBack has RollBack call undo, which undoes the step that was just taken.
func (m *Making) OnRollBack(undo func() error) { m.undo = append(m.undo, undo) }

// RollBack undoes the steps, the newest first. Where one fails, the earlier ones stay: a slot must not be given to another
// sandbox while something may exist that has it mounted. RollBack can then be called again.
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

// How long a step that changes something may take, and the clean-up after a failure.
const (
	stepTime    = 2 * time.Minute
	cleanupTime = 30 * time.Second
)

// StepContext is for a step that changes something. If the step were cut off, we would not know whether it was done, so it
// ignores the caller's cancel and has a time limit of its own. The caller's cancel counts before and after the step.
func StepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTime)
}

// CleanupContext goes on when the call that it cleans up after was cancelled.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
