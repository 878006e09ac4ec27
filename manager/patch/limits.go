package patch

import (
	"errors"
	"fmt"
)

// Limits bound a copy, and a look at a child's tree.
type Limits struct {
	Files int64 // names of any kind
	Bytes int64 // of all files
}

// How says how a directory is copied.
type How struct {
	Limits
	History History
	Ignored bool // also copy paths that git ignores
}

// DefaultHow applies unless the parent says otherwise.
var DefaultHow = How{Limits: DefaultLimits, History: DefaultHistory}

// DefaultLimits bound a copy unless the parent says otherwise.
var DefaultLimits = Limits{Files: 100_000, Bytes: 2 << 30}

// The most that a look at a child's tree may cost, whatever the child has put there.
var lookLimits = Limits{Files: 400_000, Bytes: 8 << 30}

// NoteLimits bound a Note. A host may give a child more files than a parent's own copy may have.
var NoteLimits = Limits{Files: lookLimits.Files, Bytes: DefaultLimits.Bytes}

// maxStaged bounds the bytes of a child's files that are staged: a sparse file may claim to be very long.
const maxStaged = 2 << 30

const (
	maxDepth = 128      // directories within each other; each needs an open handle
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
