package mounts

import "fmt"

// Withheld is a place that no source may be part of, by whatever name a mount gives it.
type Withheld struct {
	Path string // a directory, or a socket
	What string // for the refusal: "the outbox"
	// Socket says that Path is a socket, whether or not it exists: no source may be or hold its directory, nor, where the
	// socket is a bind mount, the directory that it comes from.
	Socket bool
	// Inside are bases in Path. Directories beneath them may be sources all the same, but not Path itself, nor the files
	// that lie directly in it.
	Inside []string
	// Apart says that no base may hold the place either. Check looks at it.
	Apart bool
}

// WithheldError says which withheld place a source is part of. It is the cause of a PathError.
type WithheldError struct{ What, How string }

// How a source is part of a withheld place.
const (
	howHolds = "is or holds"
	howIn    = "lies in"
	howFile  = "is one of the files of"
)

func (e *WithheldError) Error() string { return fmt.Sprintf("it %s %s", e.How, e.What) }
