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

// withheldPlace is a place, held open, that sandboxes must not see.
type withheldPlace struct {
	Withheld
	at   *anchor
	name string // for a socket, its name in the directory at
}

// Withhold refuses a place as a source, from the next Pin until Close. It may be called at any time. A directory has to
// exist. Withhold follows links in the path, because the path comes from the operator.
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

// openWithheld opens a place. For a socket it withholds up to three: the name itself, the target if the name is a link,
// and the origin if the socket is bind-mounted from elsewhere.
func openWithheld(k Withheld) ([]*withheldPlace, error) {
	if !k.Socket {
		return newWithheld(k, k.Path, "")
	}
	real, err := filepath.EvalSymlinks(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return newWithheld(k, filepath.Dir(k.Path), filepath.Base(k.Path))
	}
	if err != nil {
		_, why := os.Stat(k.Path) // EvalSymlinks has no error of its own for a loop
		return nil, errors.Join(why, err)
	}
	var all []*withheldPlace
	type place struct{ dir, name string }
	for _, at := range slices.Compact([]place{
		{filepath.Dir(k.Path), filepath.Base(k.Path)}, // perhaps a link; it must not be replaced either
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

// spot returns the place's spot. After an unmount it returns the last known one: unmounting does not free the place.
func (k *withheldPlace) spot() spot {
	here, _ := k.at.spot()
	if k.name != "" {
		here.path = filepath.Join(here.path, k.name)
	}
	return here
}

// why says how a source at a spot is part of the place, or returns nil.
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
	defer v.release()
	for _, k := range v.withheld {
		if k.at.device != at.device {
			continue // this tells most apart without asking the kernel
		}
		if err := k.why(at, pin.Dir, pin.Source.Base); err != nil {
			return &PathError{Source: pin.Source, Kind: KindWithheld, Err: err}
		}
	}
	return nil
}

// Check fails if a base is or lies in a withheld place, or holds a place that must be apart from it. The
// configuration's text does not show this mistake, because a mount has given one of them a second name.
func (b *Bases) Check() error {
	v, err := b.look()
	if err != nil {
		return err
	}
	defer v.release()
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
