package images

import "time"

// Limits bound one image. Zero values mean the defaults.
type Limits struct {
	Bytes int64 // of all layers, unpacked: 16 GiB
	Files int64 // of all kinds, whiteouts and what is left out included: 1,000,000
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 16 << 30
	}
	if l.Files <= 0 {
		l.Files = 1_000_000
	}
	return l
}

const (
	maxDocument = 4 << 20   // a manifest, an index, a configuration, a token
	maxDepth    = 128       // directories above a file, each of which is held open
	maxPath     = 3 << 10   // a name within the image, so that it stays a path on the host
	maxNames    = 128 << 20 // all names of one layer, which are remembered until its end
	maxLinks    = 40        // symbolic links on the way to one file, as in the kernel
	maxWindow   = 32 << 20  // what a zstd frame may have us remember
	maxMembers  = 100_000   // files in an archive around an image
	maxNested   = 2         // indexes in indexes

	// A registry that brings less than slowest while we wait for it as long as the patience is too slow.
	slowest         = 64 << 10
	defaultPatience = 30 * time.Second

	// An image that is not there by then never is: nothing that brings a little now and then, or takes long to unpack, holds
	// a start for ever.
	defaultDeadline = time.Hour
)
