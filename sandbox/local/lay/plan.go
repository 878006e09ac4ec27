package lay

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Plan describes the mounts of a slot: first the views with the mounts of the request, then the root.
type Plan struct {
	Slots string `json:"slots"` // the directory of all slots
	Slot  int    `json:"slot"`
	Views
	Layers *Layers       `json:"layers,omitempty"`
	Shown  []Shown       `json:"shown"`
	Covers mounts.Covers `json:"covers"` // for mounts below the shown places
}

// Views are the views of a slot with the mounts in them.
type Views struct {
	Mounts []Mount `json:"mounts"` // outermost first
	// Frames are the views that only lead to mounts. Each becomes a read-only mount, and the view's mounts lie in it.
	Frames []int `json:"frames,omitempty"`
}

// Frame makes the frames, before anything is placed.
func (v Views) Frame(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.Frame(view); err != nil {
			return err
		}
	}
	return nil
}

// Seal makes the frames read-only, after everything is placed.
func (v Views) Seal(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.Seal(view); err != nil {
			return err
		}
	}
	return nil
}

// Unseal makes the frames writable, so that mounts can be placed in them again.
func (v Views) Unseal(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.Unseal(view); err != nil {
			return err
		}
	}
	return nil
}

// Prove compares a slot with the mounts that were placed there: the device, inode and flags of each mount. It also
// makes sure that nobody can write to a frame.
func (v Views) Prove(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.ProveSealed(view); err != nil {
			return err
		}
	}
	for _, m := range v.Mounts {
		if err := slot.Prove(m.View, m.Rel, mounts.Placed{Dev: m.Device, Ino: m.Inode, Writable: m.Writable}); err != nil {
			return err
		}
	}
	return nil
}

// Mount is a directory or file of a request, as the launcher found it.
type Mount struct {
	Source   sandbox.Source `json:"source"` // the path in the request
	Device   uint64         `json:"device"`
	Inode    uint64         `json:"inode"`
	View     int            `json:"view"` // number of the slot's view
	Rel      string         `json:"rel"`  // path in the view
	Writable bool           `json:"writable,omitempty"`
	Programs bool           `json:"programs,omitempty"` // it comes from the profile, not from a request
}

// Layers are two directories of the host's own that form a root together. Device and Inode identify the lower one.
type Layers struct {
	Upper  string `json:"upper"`
	Lower  string `json:"lower"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Shown is a place of the host's own, and the place in the root where it is shown.
type Shown struct {
	Source string `json:"source"`
	Rel    string `json:"rel"`
}

// Show adds the arguments of a later mounts.Slot.Show to the plan.
func (p *Plan) Show(source, rel string) error {
	p.Shown = append(p.Shown, Shown{source, rel})
	return nil
}

// Stack adds the arguments of a later mounts.Slot.Stack to the plan. The keeper has to find the lower directory again,
// because it cannot mount a directory that is open in another mount namespace. If it finds a different directory, there
// is no sandbox.
func (p *Plan) Stack(upper string, lower *os.File) error {
	if p.Layers != nil {
		return errors.New("a root has two layers")
	}
	info, err := lower.Stat()
	if err != nil {
		return err
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", lower.Fd())) // the kernel's path contains no link
	if err != nil {
		return err
	}
	which := info.Sys().(*syscall.Stat_t)
	p.Layers = &Layers{Upper: upper, Lower: name, Device: uint64(which.Dev), Inode: which.Ino}
	return nil
}
