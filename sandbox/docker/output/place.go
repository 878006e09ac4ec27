package output

import (
	"fmt"
	"math"

	"torno/sandbox"
)

// Place is a reader's position in a sandbox's output. It has one mark per stream, because the engine keeps the order
// only within a stream.
type Place struct{ stdout, stderr mark }

// mark is a position in one stream, given in two ways. Bytes count from the beginning. They are exact as long as the
// engine's log still has its beginning. The stamp is the time that the log gives to a frame; same is the number of
// frames with this very stamp that are passed. Stamp and same remain usable when the log has thrown its beginning away.
type mark struct {
	bytes int64 // or unknown
	stamp int64 // unix nanoseconds
	same  int64 // frames of this stamp
}

// unknown replaces a count of bytes that began after a gap.
const unknown = -1

// allOfStamp is the value of same for a live reader. Such a reader sees no stamps and takes the time at which it read.
const allOfStamp = math.MaxInt64

const cursorForm = "1-%d.%d.%d-%d.%d.%d"

// cursor returns the place as text.
func (p Place) cursor() sandbox.Cursor {
	return sandbox.Cursor(fmt.Sprintf(cursorForm,
		p.stdout.bytes, p.stdout.stamp, p.stdout.same, p.stderr.bytes, p.stderr.stamp, p.stderr.same))
}

// Parse reads a place in its only spelling; "" is the beginning.
func Parse(c sandbox.Cursor) (Place, error) {
	var p Place
	if c == "" {
		return p, nil
	}
	_, err := fmt.Sscanf(string(c), cursorForm,
		&p.stdout.bytes, &p.stdout.stamp, &p.stdout.same, &p.stderr.bytes, &p.stderr.stamp, &p.stderr.same)
	if err != nil || p.cursor() != c {
		return Place{}, fmt.Errorf("the cursor %q is not from this launcher", c)
	}
	return p, nil
}

// of returns the mark of a stream.
func (p *Place) of(s sandbox.Stream) *mark {
	if s == sandbox.Stdout {
		return &p.stdout
	}
	return &p.stderr
}
