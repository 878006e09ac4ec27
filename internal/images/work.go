package images

import (
	"context"
	"fmt"
	"os"
)

// Unpacking costs what a stranger wrote. So every entry of a layer pays for a constant amount of work, and each name that is
// looked at is taken from that: an honest image uses a few steps for each of its entries.
const (
	firstSteps    = 100_000
	stepsForEntry = 32
)

// work counts how much unpacking an image may still do.
type work struct {
	ctx   context.Context // ends it: by its deadline, or when the last caller has given up
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
		return problem(TooLarge, "it takes more work to unpack than its entries are worth")
	}
	return nil
}

// Floor is the space that stays free on the file system of the cache. The zero Floor lets it fill up.
type Floor struct {
	Bytes int64
	Files int64 // inodes, where the file system has a fixed number of them
}

// askEach is how many bytes are written between two looks at what is free.
const askEach = 8 << 20

// room sees to it that unpacking stops before the floor is reached, and not below it: there the watcher would end sandboxes
// that have written nothing.
type room struct {
	dir     *os.File
	floor   Floor
	unasked int64
}

// take is told of bytes that are going to be written.
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

// ask looks at what is free. Others may be unpacking too, so a part more than the floor has to be.
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
