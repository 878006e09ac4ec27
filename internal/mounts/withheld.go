package mounts

import "fmt"

// Withheld is a place that no source may be part of, whatever name a mount gives it.
type Withheld struct {
	Path string // a directory, or a socket
	What string // the name for the refusal, such as "the outbox"
	// Socket is true if Path is a socket, whether or not it exists yet. No source may be or hold the socket's
	// directory. If the socket is a bind mount, the same holds for the directory that it comes from.
	Socket bool
	// Inside are bases in Path. Directories beneath them may still be sources. Path itself may not, and neither may
	// files that lie directly in it.
	Inside []string
	// Apart is true if no base may hold the place either. Check looks at it.
	Apart bool
}

// WithheldError names the withheld place that a source is part of. It is the cause of a PathError.
type WithheldError struct{ What, How string }

// These are the ways in which a source can be part of a withheld place.
const (
	howHolds = "is or holds"
	howIn    = "lies in"
	howFile  = "is one of the files of"
)

func (e *WithheldError) Error() string { return fmt.Sprintf("it %s %s", e.How, e.What) }
