package patch

import (
	"errors"
	"fmt"
)

// Limits bound a copy, and a look at what a child has left.
type Limits struct {
	Files int64 // names of any kind
	Bytes int64 // of all files
}

// How says how a directory is copied.
type How struct {
	Limits
	History History
	Ignored bool // also what git ignores
}

// DefaultHow is how a parent copies that does not say otherwise.
var DefaultHow = How{Limits: DefaultLimits, History: DefaultHistory}

// DefaultLimits are those of a copy, unless the parent says otherwise.
var DefaultLimits = Limits{Files: 100_000, Bytes: 2 << 30}

// What a look at a child's tree may cost at most, whatever the child has put there.
var lookLimits = Limits{Files: 400_000, Bytes: 8 << 30}

// NoteLimits are those of what a host has given a child, of which it gives more than a parent's copy has.
var NoteLimits = Limits{Files: lookLimits.Files, Bytes: DefaultLimits.Bytes}

// maxStaged is how many bytes of a child's files are held: a file without content on its disk may say that it is very long.
const maxStaged = 2 << 30

const (
	maxDepth = 128      // directories within each other, each of which is an open handle
	maxPath  = 4096     // bytes of a path below the tree
	maxNames = 32 << 20 // bytes of all paths together
)

// ErrTooMuch says that a tree is larger than the limits.
var ErrTooMuch = errors.New("there is more than the limits allow")

func (l Limits) check(files, size, names int64) error {
	switch {
	case files > l.Files:
		return fmt.Errorf("%w: more than %d files and directories", ErrTooMuch, l.Files)
	case size > l.Bytes:
		return fmt.Errorf("%w: more than %d MiB", ErrTooMuch, l.Bytes>>20)
	case names > maxNames:
		return fmt.Errorf("%w: more than %d MiB of names", ErrTooMuch, maxNames>>20)
	}
	return nil
}
