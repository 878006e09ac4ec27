package lay

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Plan is what is to be mounted in a slot: first the views with the mounts of the request, then the root.
type Plan struct {
	Slots string `json:"slots"` // the directory of all slots
	Slot  int    `json:"slot"`
	Views
	Layers *Layers       `json:"layers,omitempty"`
	Shown  []Shown       `json:"shown"`
	Covers mounts.Covers `json:"covers"` // for what is mounted below what is shown
}

// Views are the views of a slot with what lies in them.
type Views struct {
	Mounts []Mount `json:"mounts"` // outermost first
	// Frames are the views that only lead to mounts. Each is a read-only mount, in which the mounts lie.
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

// Seal makes the frames read-only, when everything is placed.
func (v Views) Seal(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.Seal(view); err != nil {
			return err
		}
	}
	return nil
}

// Unseal lets mounts be placed in the frames again.
func (v Views) Unseal(slot *mounts.Slot) error {
	for _, view := range v.Frames {
		if err := slot.Unseal(view); err != nil {
			return err
		}
	}
	return nil
}

// Prove compares what lies in a slot with what was placed there: each mount's device, inode and flags, and that nothing can
// be written to a frame.
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

// Mount is a directory or file of a request, as the launcher has found it.
type Mount struct {
	Source   sandbox.Source `json:"source"` // where the request has it
	Device   uint64         `json:"device"`
	Inode    uint64         `json:"inode"`
	View     int            `json:"view"` // of the slot
	Rel      string         `json:"rel"`  // in the view
	Writable bool           `json:"writable,omitempty"`
	Programs bool           `json:"programs,omitempty"` // the profile has it, and no request
}

// Layers are two directories of the host's own, of which a root is made. Device and Inode say which one the lower is.
type Layers struct {
	Upper  string `json:"upper"`
	Lower  string `json:"lower"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Shown is a place of the host's own, and where in the root it is shown.
type Shown struct {
	Source string `json:"source"`
	Rel    string `json:"rel"`
}

// Show writes down what mounts.Slot.Show is to be told.
func (p *Plan) Show(source, rel string) error {
	p.Shown = append(p.Shown, Shown{source, rel})
	return nil
}

// Stack writes down what mounts.Slot.Stack is to be told. The keeper finds the lower directory again, because what is open in
// another mount namespace cannot be mounted: it is the one, or there is no sandbox.
func (p *Plan) Stack(upper string, lower *os.File) error {
	if p.Layers != nil {
		return errors.New("a root has two layers")
	}
	info, err := lower.Stat()
	if err != nil {
		return err
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", lower.Fd())) // the kernel's, in which there is no link
	if err != nil {
		return err
	}
	which := info.Sys().(*syscall.Stat_t)
	p.Layers = &Layers{Upper: upper, Lower: name, Device: uint64(which.Dev), Inode: which.Ino}
	return nil
}
