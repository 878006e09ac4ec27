package local

import (
	"context"
	"errors"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Order is one sandbox to be made.
type Order struct {
	ID    sandbox.SandboxID // or what a launcher calls its trial
	Spec  sandbox.Spec
	Bases *mounts.Bases
}

// Making is a sandbox on its way into being, as far as the way is every launcher's. What was set up is undone in reverse, unless
// the sandbox is made.
type Making struct {
	Order
	Pins Pins
	Slot *mounts.Slot
	undo []func() error // the newest last
}

// Take takes steps one after the other, and hears of the caller's wish to cancel before each.
func Take(ctx context.Context, steps ...func(context.Context) error) error {
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

// CheckSpec refuses what no launcher could make.
func (m *Making) CheckSpec(context.Context) error {
	if root := m.Spec.RootFS; root.Host == (root.Image != "") {
		return errors.New("a sandbox has either the host's programs or an image")
	}
	return checkLimits(m.Spec.Limits)
}

// PinMounts finds and holds what the request names.
func (m *Making) PinMounts(context.Context) (err error) {
	m.Pins, err = Pin(m.Bases, m.Spec.Mounts, m.Spec.Owners)
	return err
}

// TakeSlot takes a free slot, and with it an identity of the range.
func (m *Making) TakeSlot(slots *mounts.Slots, ids UIDRange) (err error) {
	if m.Slot, err = acquire(slots, ids); err == nil {
		m.Undo(m.Slot.Release)
	}
	return err
}

// Undo has a step of RollBack ready for what was just set up.
func (m *Making) Undo(step func() error) { m.undo = append(m.undo, step) }

// RollBack undoes what was set up, the newest first. Where a step fails, what it stands on is kept: a slot must not be given to
// another sandbox while something may exist that has it mounted. Then RollBack can be called again.
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

// What a step that changes something may take, and what is done after a failure.
const (
	stepTime    = 2 * time.Minute
	cleanupTime = 30 * time.Second
)

// StepContext is for a step that changes something. Were it cut off, it would not be known whether it was done; so it is not,
// and has a time of its own. A caller's wish to cancel is heard before and after it.
func StepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepTime)
}

// CleanupContext goes on when the call that it cleans up after was cancelled.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
