package stage

import (
	"errors"
	"fmt"
	"path/filepath"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// Pins are the mounts of a spec, each found and held. What they tell is in the spec's order.
type Pins struct {
	wanted []sandbox.Mount
	held   []*mounts.Pin
}

// Pin finds and holds what the request names. Close lets go of it.
func Pin(bases *mounts.Bases, wanted []sandbox.Mount) (Pins, error) {
	p := Pins{wanted: wanted}
	for _, w := range wanted {
		pin, err := pinOne(bases, w)
		if err != nil {
			p.Close()
			return Pins{}, err
		}
		p.held = append(p.held, pin)
	}
	return p, nil
}

func pinOne(bases *mounts.Bases, wanted sandbox.Mount) (*mounts.Pin, error) {
	pin, err := bases.Pin(wanted.Source)
	var wrong *mounts.PathError
	switch {
	case errors.As(err, &wrong):
		return nil, refuse(wanted, wrong.Reason(), hintFor(wrong))
	case err != nil:
		return nil, err
	case wanted.Workspace && !pin.Dir:
		pin.Close()
		return nil, refuse(wanted, "is not a directory", "name a directory")
	}
	return pin, nil
}

// Close lets go of all: mounts made from them stand on their own.
func (p Pins) Close() {
	for _, pin := range p.held {
		pin.Close()
	}
}

// Held are the mounts as they were found, in the spec's order. They stay ours.
func (p Pins) Held() []*mounts.Pin { return p.held }

// workspace is the pin of what the sandbox may write, or nil.
func (p Pins) workspace() *mounts.Pin {
	for i, wanted := range p.wanted {
		if wanted.Workspace {
			return p.held[i]
		}
	}
	return nil
}

// Workspace is which directory the workspace is; 0 and 0 without one.
func (p Pins) Workspace() (device, inode uint64) {
	if pin := p.workspace(); pin != nil {
		return pin.Dev, pin.Ino
	}
	return 0, 0
}

// Owner is whom the workspace belongs to, for a sandbox that has to run as its owner, if it may.
func (p Pins) Owner(owners []uint32) (mounts.Identity, error) {
	pin := p.workspace()
	if pin == nil {
		return mounts.Identity{}, errors.New("a sandbox without a workspace has nobody to run as; by path it runs as the workspace's owner")
	}
	return pin.Owner(), checkOwner(pin.Owner(), owners)
}

// Paths are where the mounts are at this moment, as an engine sees them that can only be told paths. It will look them up
// again, so that only init's proof tells what it has found.
func (p Pins) Paths() ([]string, error) {
	var all []string
	for i, wanted := range p.wanted {
		source := wanted.Engine
		if source == "" {
			var err error
			if source, err = p.held[i].HerePath(); err != nil {
				return nil, fmt.Errorf("find %q: %w", wanted.Target, err)
			}
		}
		all = append(all, source)
	}
	return all, nil
}

// Place moves clones of the mounts into the slot, each to its place in its View. With idmaps the child's identity is
// exchanged for the owner's. Without, every file keeps the owner that it has.
func (p Pins) Place(slot *mounts.Slot, child mounts.Identity, idmaps *mounts.IDMaps) error {
	for _, v := range Views(p.wanted) {
		for _, i := range v.Mounts {
			if err := p.place(i, v, slot, child, idmaps); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Pins) place(i int, v View, slot *mounts.Slot, child mounts.Identity, idmaps *mounts.IDMaps) error {
	wanted, pin := p.wanted[i], p.held[i]
	rel, err := v.Rel(wanted.Target)
	if err != nil {
		return err
	}
	options := mounts.CloneOptions{ReadOnly: !wanted.Workspace}
	if idmaps != nil {
		if options.IDMap, err = idmaps.Get(pin.Owner(), child); err != nil {
			return err
		}
		defer options.IDMap.Close()
	}
	tree, err := pin.Clone(options)
	if err != nil {
		return err
	}
	defer tree.Close()
	err = slot.Place(tree, v.Number, rel)
	if errors.Is(err, mounts.ErrNoPlace) || errors.Is(err, mounts.ErrTaken) {
		return refuse(wanted, "does not fit into the mount around it", "make it a directory there too, or name it apart")
	}
	return err
}

// In are the paths at which the mounts lie in a slot, once they are placed.
func (p Pins) In(slot *mounts.Slot) ([]string, error) {
	all := make([]string, len(p.wanted))
	for _, v := range Views(p.wanted) {
		dir, err := slot.ViewDir(v.Number)
		if err != nil {
			return nil, err
		}
		for _, i := range v.Mounts {
			rel, err := v.Rel(p.wanted[i].Target)
			if err != nil {
				return nil, err
			}
			all[i] = filepath.Join(dir, rel)
		}
	}
	return all, nil
}

// Expected is what init is to find. Hardened is for mounts that were placed, which are nosuid and nodev.
func (p Pins) Expected(hardened bool) []runfile.Mount {
	var all []runfile.Mount
	for i, wanted := range p.wanted {
		all = append(all, runfile.Mount{
			Path: wanted.Target, Device: p.held[i].Dev, Inode: p.held[i].Ino, Writable: wanted.Workspace, Hardened: hardened,
		})
	}
	return all
}

// Unnumbered is what init is to find where the sandbox's kernel has numbers of its own.
func Unnumbered(expected []runfile.Mount) []runfile.Mount {
	var all []runfile.Mount
	for _, m := range expected {
		m.Device, m.Inode, m.Unnumbered = 0, 0, true
		all = append(all, m)
	}
	return all
}
