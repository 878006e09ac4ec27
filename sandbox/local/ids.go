package local

import (
	"errors"
	"fmt"
	"math"

	"torno/internal/mounts"
)

// UIDRange is a range of user and group ids that no user of the host has. The sandbox in slot n, counted from 1,
// has First+n as its uid and its gid. Count bounds how many sandboxes there can be at once.
type UIDRange struct {
	First uint32
	Count int
}

// The range where the operator names none.
const (
	defaultFirstUID = 2_000_000_000
	defaultUIDCount = 256
)

// Checked returns the range, or the default range for an empty one. The error says what is wrong with it.
func (r UIDRange) Checked() (UIDRange, error) {
	if r == (UIDRange{}) {
		return UIDRange{First: defaultFirstUID, Count: defaultUIDCount}, nil
	}
	if r.First == 0 || r.Count < 1 {
		return r, fmt.Errorf("%d ids from %d are no range for sandboxes: it begins above 0 and has at least one", r.Count, r.First)
	}
	// Engines take no id over the largest signed one.
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

// Has says whether an identity is that of a sandbox in some slot, or of the trial.
func (r UIDRange) Has(uid uint32) bool {
	return uid >= r.First && int64(uid) <= int64(r.First)+int64(r.Count)
}

// OpenAnySlots opens the slots of an earlier process. Where the watcher may mount, they have a mount of their own, which
// goes when they are closed; elsewhere there is none.
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

// acquire takes a free slot, and with it an identity of the range.
func acquire(slots *mounts.Slots, r UIDRange) (*mounts.Slot, error) {
	slot, err := slots.Acquire()
	if errors.Is(err, mounts.ErrNoSlot) {
		return nil, fmt.Errorf("all %d identities for sandboxes are in use: %w", r.Count, err)
	}
	return slot, err
}
