package mounts

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// Apart makes sure that an open place of the operator's has nothing to do with the bases or the withheld places, under
// any name: it is none of them, holds none of them and lies in none of them. Otherwise a parent could change the place,
// or a child could see in it something that is withheld from it.
func (b *Bases) Apart(place *os.File) error {
	here, err := spotOfFile(place)
	if err != nil {
		return fmt.Errorf("find where %q is: %w", place.Name(), err)
	}
	v, err := b.look()
	if err != nil {
		return err
	}
	defer v.release()
	for _, path := range v.paths() {
		base, err := v.held[path].spot()
		if base == (spot{}) {
			return fmt.Errorf("find where root %q is: %w", path, err)
		}
		if base.holds(here) || here.holds(base) {
			return fmt.Errorf("%w: %q", ErrNotApart, path)
		}
	}
	for _, k := range v.withheld {
		own := k.spot()
		if here.holds(own) || !k.Socket && own.holds(here) {
			return fmt.Errorf("%w: %s, %q", ErrNotApart, k.What, k.Path)
		}
	}
	return nil
}

// PinApart pins a place that the operator has named and the caller has open, if it passes Apart. The pin has its own
// handle.
func (b *Bases) PinApart(src sandbox.Source, place *os.File) (*Pin, error) {
	if err := b.Apart(place); err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(place.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return newPin(src, fd)
}

// spotOfFile returns the spot of a handle in any mount.
func spotOfFile(file *os.File) (spot, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return spot{}, os.NewSyscallError("fcntl", err)
	}
	at, err := newAnchor(os.NewFile(uintptr(fd), file.Name()))
	if err != nil {
		return spot{}, err
	}
	defer at.file.Close()
	return at.spot()
}
