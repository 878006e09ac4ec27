package tree

import (
	"errors"
	"time"
)

// ErrNeedsLinux is the error of every function here on other systems.
var ErrNeedsLinux = errors.New("looking at workspaces by handle needs Linux")

// ID identifies a directory or a file.
type ID struct{ Dev, Ino uint64 }

// Space is the free space of a file system for users other than root.
type Space struct {
	Dev   uint64
	Bytes int64
	Files int64 // -1 if the file system has no fixed number of files
}

// Bounds end a walk. A bound of 0 does not count, but the depth is always bounded.
type Bounds struct {
	Bytes     int64         // the walk has found more bytes than this
	Entries   int64         // or has looked at more names than this
	Time      time.Duration // or has taken longer than this
	Processor time.Duration // or has used more processor time; the load of other programs does not bring this bound closer
	Since     time.Time     // files that changed since then count as Fresh
	Humble    bool          // the walk gives way to everything else on the machine
}

// Seen reports how much a walk covered.
type Seen struct {
	Entries int64
	Stopped bool  // a bound was reached, and there may be more
	Missed  int64 // directories that could not be looked into
	Deep    bool  // something lies deeper than MaxDepth and was not looked at
}

// Whole reports whether everything was seen.
func (s Seen) Whole() bool { return !s.Stopped && s.Missed == 0 && !s.Deep }

// MaxDepth is the number of directory levels that a walk looks at. A file that lies deeper cannot be named by any path.
const MaxDepth = 2048

// Usage reports how much a directory holds.
type Usage struct {
	Seen
	Bytes int64         // allocated bytes; each file counts once, however many names it has
	Fresh int64         // the bytes of files that changed since Bounds.Since
	Cost  time.Duration // processor time that the walk used
}

// Finding counts files of one kind and names the first few, as paths below the directory. A path longer than maxShown
// loses its beginning and gets ".../" instead. The names are the child's: quote them.
type Finding struct {
	Count int64
	Names []string
}

// Bounds of a Finding: the number of names, and the bytes of each.
const (
	maxNames = 5
	maxShown = 512
)

// Findings are the things in a directory that the child's parent should know about.
type Findings struct {
	Usage
	Cleared Finding // files whose set-id bits were removed
	SetID   Finding // files that still have them: they have a name outside, or we may not change them
	Devices Finding
	FIFOs   Finding
	Sockets Finding
	Links   Finding // symbolic links that lead out of the directory, or may
}

// Want says which files are artifacts.
type Want struct {
	Patterns []string  // for path.Match, relative to the directory; a pattern that ends with a slash means everything below
	Since    time.Time // only files that changed since then, by the file system's own time
	Number   int       // of files that are named
	Bytes    int64     // that are read in all
}

// Artifact is a file that a child made or changed. Its path is the child's.
type Artifact struct {
	Path   string
	Size   int64
	SHA256 string // "" if the file was not read, for instance because it is too big
}

// Artifacts are the files that were found, sorted by path.
type Artifacts struct {
	Seen
	Files []Artifact
	Left  int64 // matching files that are left out: too many, no plain name, or not the child's own
}

// Emptied reports what Empty did to a directory.
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
	Room      func(Space) error        // asked now and then; returns an error if there is no room for more; nil: never asked
	As        func(func() error) error // calls with the rights of the user who reads and owns; nil: the thread's rights
	NoGit     bool                     // git directories are left out without a word
}

// Copied reports the result of a copy.
type Copied struct {
	Files, Directories, Links int64
	Bytes                     int64 // that are allocated, or shared with the original
	Cloned                    int64 // files that share their blocks with the original
	Git                       int64 // git directories, copied without hooks, settings and anything that leads out of them
	Left                      []LeftOut
	LeftCount                 int64
}

// LeftOut is an entry that was not copied. The path is a stranger's: quote it.
type LeftOut struct{ Path, Why string }

// maxLeft is the number of left-out entries that are named.
const maxLeft = 20

// NoCopyError says why no copy is made, or which bound the copy reached.
type NoCopyError struct{ Why string }

func (e *NoCopyError) Error() string { return e.Why }
