package local

import (
	"errors"
	"fmt"
	"math"

	"torno/internal/mounts"
)

// UIDRange is a range of user and group ids that no user of the host has. The sandbox in slot n, counted from 1, has
// First+n as its uid and its gid. Count bounds how many sandboxes can exist at the same time.
type UIDRange struct {
	First uint32
	Count int
}

// These numbers make the default range, for an operator who names none.
const (
	defaultFirstUID = 2_000_000_000
	defaultUIDCount = 256
)

// Checked returns the range, or the default range if it is empty. The error describes the mistake in the range.
func (r UIDRange) Checked() (UIDRange, error) {
	if r == (UIDRange{}) {
		return UIDRange{First: defaultFirstUID, Count: defaultUIDCount}, nil
	}
	if r.First == 0 || r.Count < 1 {
		return r, fmt.Errorf("%d ids from %d are not a range for sandboxes: a range begins above 0 and has at least one id", r.Count, r.First)
	}
	// Engines accept no id above the largest signed 32-bit number.
	if last := int64(r.First) + int64(r.Count); last > math.MaxInt32 {
		return r, fmt.Errorf("the ids of sandboxes reach %d, at most %d is possible", last, math.MaxInt32)
	}
	return r, nil
}

// Of returns the identity of the sandbox in a slot.
func (r UIDRange) Of(slot *mounts.Slot) mounts.Identity {
	id := r.First + uint32(slot.Number())
	return mounts.Identity{UID: id, GID: id}
}

// Has reports whether a user id belongs to a sandbox in some slot, or to the trial.
func (r UIDRange) Has(uid uint32) bool {
	return uid >= r.First && int64(uid) <= int64(r.First)+int64(r.Count)
}

// OpenAnySlots opens the slots of an earlier process. If the watcher may mount, they have a mount of their own, which
// ends when they are closed. Otherwise there is no such mount.
func OpenAnySlots(dir string) (*mounts.Slots, error) {
	slots, err := mounts.OpenSlots(dir, 0, true)
	if err != nil {
		slots, err = mounts.OpenSlots(dir, 0, false)
	}
	if err != nil {
		return nil, fmt.Errorf("open the slots: %w", err)
	}
	return slots, nil
}

// acquire takes a free slot, and with it an identity from the range.
func acquire(slots *mounts.Slots, r UIDRange) (*mounts.Slot, error) {
	slot, err := slots.Acquire()
	if errors.Is(err, mounts.ErrNoSlot) {
		return nil, fmt.Errorf("all %d identities for sandboxes are in use: %w", r.Count, err)
	}
	return slot, err
}
