package tree

import (
	"errors"
	"time"
)

// ErrNeedsLinux is what everything here returns on another system.
var ErrNeedsLinux = errors.New("looking at workspaces by handle needs Linux")

// ID says which directory or file it is.
type ID struct{ Dev, Ino uint64 }

// Space is the free space of a file system for users other than root.
type Space struct {
	Dev   uint64
	Bytes int64
	Files int64 // -1 where the file system has no fixed number of them
}

// Bounds end a walk. A bound of 0 does not count, except that the depth is always bounded.
type Bounds struct {
	Bytes     int64         // a walk that has found more than this
	Entries   int64         // or has looked at more than this many names
	Time      time.Duration // or has begun so long ago
	Processor time.Duration // or has used so much of a processor, which no load of others makes come earlier
	Since     time.Time     // what changed since then counts as Fresh
	Humble    bool          // the walk gives way to everything else on the machine
}

// Seen is what a walk has covered.
type Seen struct {
	Entries int64
	Stopped bool  // a bound was reached, and there may be more
	Missed  int64 // directories that could not be looked into
	Deep    bool  // something lies deeper than MaxDepth, and was not looked at
}

// Whole says whether everything was seen.
func (s Seen) Whole() bool { return !s.Stopped && s.Missed == 0 && !s.Deep }

// MaxDepth is how many levels of directories are looked at. No path can name a file below that many.
const MaxDepth = 2048

// Usage is how much a directory holds.
type Usage struct {
	Seen
	Bytes int64         // what is allocated, once for each file however many names it has
	Fresh int64         // the part of it in files that changed since Bounds.Since
	Cost  time.Duration // what the walk used of a processor
}

// Finding counts files of one kind and names the first few, as paths below the directory. A path longer than maxShown is cut
// at its front, and begins with ".../". The names are the child's: quote them.
type Finding struct {
	Count int64
	Names []string
}

// How many of them a Finding names, and how many bytes of each.
const (
	maxNames = 5
	maxShown = 512
)

// Findings are what a child has left that its parent should know of.
type Findings struct {
	Usage
	Cleared Finding // files that had set-id bits
	SetID   Finding // files that still have them: they have a name outside, or we may not
	Devices Finding
	FIFOs   Finding
	Sockets Finding
	Links   Finding // symbolic links that lead out of the directory, or may
}

// Want says which files are artifacts.
type Want struct {
	Patterns []string  // as path.Match has them, relative to the directory; one that ends with a slash is all below it
	Since    time.Time // only what has changed since, by the file system's own time
	Number   int       // of files that are named
	Bytes    int64     // that are read in all
}

// Artifact is a file that a child has made or changed. Its path is the child's.
type Artifact struct {
	Path   string
	Size   int64
	SHA256 string // "" where it was not read, because there is too much
}

// Artifacts are those that were found, by path.
type Artifacts struct {
	Seen
	Files []Artifact
	Left  int64 // that match, and are left out: too many, no plain names, or not the child's own
}

// Emptied is what became of a directory that was to be emptied.
type Emptied struct {
	Removed int64 // entries
	Left    int64 // entries that could not be removed
	Stopped bool  // a bound was reached, and there may be more
}

// CopyBounds end a copy, which then fails with a *NoCopyError. A bound of 0 does not count.
type CopyBounds struct {
	Bytes     int64 // that are allocated
	Entries   int64
	Time      time.Duration
	Processor time.Duration
	Room      func(Space) error        // says now and then whether there is room for more; nil where that is not asked
	As        func(func() error) error // calls with the rights of the user who reads and owns; nil for the thread's
	NoGit     bool                     // directories of git are left out without a word
}

// Copied is what was copied.
type Copied struct {
	Files, Directories, Links int64
	Bytes                     int64 // that are allocated, or shared with the original
	Cloned                    int64 // files that share their blocks with the original
	Git                       int64 // directories of git, of which hooks, settings and what leads out of them stay behind
	Left                      []LeftOut
	LeftCount                 int64
}

// LeftOut is something that was not copied. The path is a stranger's: quote it.
type LeftOut struct{ Path, Why string }

// maxLeft is how much of what was left out is named.
const maxLeft = 20

// NoCopyError says why no copy is made, or which bound it has reached.
type NoCopyError struct{ Why string }

func (e *NoCopyError) Error() string { return e.Why }
