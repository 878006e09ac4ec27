package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// withheldPlace is a place that sandboxes must not see, held open.
type withheldPlace struct {
	Withheld
	at   *anchor
	name string // of a socket in the directory at
}

// Withhold refuses a place as a source, from the next Pin on, until Close. It may be called at any time. A directory
// has to exist. Links in the path are followed, since it is the operator's.
func (b *Bases) Withhold(k Withheld) error {
	keepers, err := openWithheld(k)
	if err != nil {
		return fmt.Errorf("keep %s from sandboxes: %w", k.What, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		closeWithheld(keepers)
		return fmt.Errorf("keep %s from sandboxes: %w", k.What, fs.ErrClosed)
	}
	b.withheld = append(b.withheld, keepers...)
	return nil
}

// openWithheld opens a place. A socket is withheld by its name, where a link leads and, if a mount brings it there from elsewhere, there too.
func openWithheld(k Withheld) ([]*withheldPlace, error) {
	if !k.Socket {
		return newWithheld(k, k.Path, "")
	}
	real, err := filepath.EvalSymlinks(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return newWithheld(k, filepath.Dir(k.Path), filepath.Base(k.Path))
	}
	if err != nil {
		return nil, err
	}
	var all []*withheldPlace
	type place struct{ dir, name string }
	for _, at := range slices.Compact([]place{
		{filepath.Dir(k.Path), filepath.Base(k.Path)}, // perhaps a link, which must not be replaced either
		{filepath.Dir(real), filepath.Base(real)},
		{real, ""},
	}) {
		opened, err := newWithheld(k, at.dir, at.name)
		if err != nil {
			closeWithheld(all)
			return nil, err
		}
		all = append(all, opened...)
	}
	return all, nil
}

func newWithheld(k Withheld, path, name string) ([]*withheldPlace, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	at, err := newAnchor(os.NewFile(uintptr(fd), path))
	if err != nil {
		return nil, err
	}
	if _, err := at.spot(); err != nil {
		at.file.Close()
		return nil, err
	}
	return []*withheldPlace{{Withheld: k, at: at, name: name}}, nil
}

func closeWithheld(all []*withheldPlace) {
	for _, k := range all {
		k.at.file.Close()
	}
}

// spot is where the place is, or was before it was unmounted: that does not free it.
func (k *withheldPlace) spot() spot {
	here, _ := k.at.spot()
	if k.name != "" {
		here.path = filepath.Join(here.path, k.name)
	}
	return here
}

// why says how a source at a spot is part of the place, or nil.
func (k *withheldPlace) why(at spot, dir bool, base string) error {
	own, inside := k.spot(), slices.Contains(k.Inside, base)
	switch {
	case at.holds(own):
		return &WithheldError{k.What, howHolds}
	case k.Socket || !own.holds(at) || inside && dir:
		return nil
	case inside && filepath.Dir(at.path) != own.path:
		return nil
	case inside:
		return &WithheldError{k.What, howFile}
	}
	return &WithheldError{k.What, howIn}
}

// refuseWithheld refuses a pin that is part of a withheld place, or may be.
func (b *Bases) refuseWithheld(pin *Pin, base *anchor) error {
	at, err := base.spotOf(pin.file)
	if err != nil {
		return err
	}
	v, err := b.look()
	if err != nil {
		return err
	}
	defer v.letGo()
	for _, k := range v.withheld {
		if k.at.device != at.device {
			continue // most are told apart without asking the kernel
		}
		if err := k.why(at, pin.Dir, pin.Source.Base); err != nil {
			return &PathError{Source: pin.Source, Kind: KindWithheld, Err: err}
		}
	}
	return nil
}

// Check fails if a base is or lies in a withheld place, or holds a place that must be apart from it. The configuration's text does
// not show this mistake, since a mount has given one of them a second name.
func (b *Bases) Check() error {
	v, err := b.look()
	if err != nil {
		return err
	}
	defer v.letGo()
	for _, path := range v.paths() {
		at, err := v.held[path].spot()
		if err != nil {
			return fmt.Errorf("find where root %q is: %w", path, err)
		}
		for _, k := range v.withheld {
			if err := k.clash(at, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *withheldPlace) clash(at spot, base string) error {
	own := k.spot()
	inside, outside := own.holds(at), at.holds(own)
	if slices.Contains(k.Inside, base) || !inside && (!outside || !k.Apart) {
		return nil
	}
	return fmt.Errorf("%q is, holds or lies in %s, %q, by another name that a mount gives it; choose another directory", base, k.What, k.Path)
}
