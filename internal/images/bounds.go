package images

import "time"

// Limits bound one image. Zero values mean the defaults.
type Limits struct {
	Bytes int64 // of all layers, unpacked; 16 GiB by default
	Files int64 // entries of all kinds, also whiteouts and skipped entries; 1,000,000 by default
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
	maxDepth    = 128       // directories above a file; each is held open
	maxPath     = 3 << 10   // bytes of a name within the image, so that its path on the host stays valid
	maxNames    = 128 << 20 // bytes of all names of one layer, which stay in memory until its end
	maxLinks    = 40        // symbolic links on the way to one file, as in the kernel
	maxWindow   = 32 << 20  // memory that a zstd frame may demand
	maxMembers  = 100_000   // files in an archive around an image
	maxNested   = 2         // levels of indexes within indexes

	// A registry is too slow if it sends less than slowest while we wait for it as long as the patience.
	slowest         = 64 << 10
	defaultPatience = 30 * time.Second

	// The cache gives up an image that is not ready by the deadline. So a registry that sends a little now and then, or
	// an archive that takes long to unpack, cannot delay a start for ever.
	defaultDeadline = time.Hour
)
