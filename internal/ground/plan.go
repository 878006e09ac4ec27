package ground

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Plan is what is to be mounted in a slot: first the mounts of the request, outermost first, then the root.
type Plan struct {
	Slots  string        `json:"slots"` // the directory of all slots
	Slot   int           `json:"slot"`
	Mounts []Mount       `json:"mounts"`
	Layers *Layers       `json:"layers,omitempty"`
	Shown  []Place       `json:"shown"`
	Covers mounts.Covers `json:"covers"` // for what is mounted below what is shown
}

// Mount is a directory or file of a request, as the launcher has found it.
type Mount struct {
	Source   sandbox.Source `json:"source"` // where the request has it
	Device   uint64         `json:"device"`
	Inode    uint64         `json:"inode"`
	View     int            `json:"view"` // of the slot
	Rel      string         `json:"rel"`  // in the view
	Writable bool           `json:"writable,omitempty"`
}

// Layers are two directories of the host's own, of which a root is made. Device and Inode say which one the lower is.
type Layers struct {
	Upper  string `json:"upper"`
	Lower  string `json:"lower"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Place is a place of the host's own, and where in the root it is shown.
type Place struct {
	Source string `json:"source"`
	Rel    string `json:"rel"`
}

// Show writes down what mounts.Slot.Show is to be told.
func (p *Plan) Show(source, rel string) error {
	p.Shown = append(p.Shown, Place{source, rel})
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
