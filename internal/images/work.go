package images

import (
	"context"
	"fmt"
	"os"
)

// A stranger decides how much work unpacking is. So every entry of a layer earns a constant number of steps, and each
// name that is looked at costs steps. An honest image needs a few steps for each of its entries.
const (
	firstSteps    = 100_000
	stepsForEntry = 32
)

// work counts how many steps an image may still take to unpack.
type work struct {
	ctx   context.Context // ends at the deadline, or when the last caller has given up
	left  int64
	spent int64
}

// spend takes steps off the budget.
func (w *work) spend(steps int64) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	w.left -= steps
	w.spent += steps
	if w.left < 0 {
		return problem(TooLarge, "it takes too much work to unpack for its number of entries")
	}
	return nil
}

// Floor is the space that must stay free on the file system of the cache. With the zero Floor the cache may fill it up.
type Floor struct {
	Bytes int64
	Files int64 // inodes, if the file system has a fixed number of them
}

// askEach is how many bytes are written between two looks at the free space.
const askEach = 8 << 20

// room stops unpacking before the free space reaches the floor. Below the floor the watcher would end sandboxes that
// have written nothing.
type room struct {
	dir     *os.File
	floor   Floor
	unasked int64
}

// take counts bytes that are about to be written, and looks at the free space after each askEach of them.
func (r *room) take(bytes int64) error {
	if r == nil {
		return nil
	}
	if r.unasked += bytes; r.unasked < askEach {
		return nil
	}
	r.unasked = 0
	return r.ask()
}

// ask refuses if little more than the floor is free, because others may be unpacking at the same time.
func (r *room) ask() error {
	if r.floor == (Floor{}) {
		return nil
	}
	bytes, files, err := freeOn(r.dir)
	if err != nil {
		return fmt.Errorf("ask for the free space of the image cache: %w", err)
	}
	switch {
	case bytes < r.floor.Bytes+r.floor.Bytes/16+askEach:
		return problem(NoRoom, "the file system of the image cache has %d MiB left, and %d MiB must stay free", bytes>>20, r.floor.Bytes>>20)
	case files >= 0 && files < r.floor.Files+r.floor.Files/16+askEach/blockSize:
		return problem(NoRoom, "the file system of the image cache has %d inodes left, and %d must stay free", files, r.floor.Files)
	}
	return nil
}
