package output

import (
	"fmt"
	"math"

	"torno/sandbox"
)

// Place is where a reader is in a sandbox's output: one in each stream, for the engine keeps the order within a stream only.
type Place struct{ stdout, stderr mark }

// mark is a place in one stream, said in two ways. Bytes count from the beginning, which is exact as long as the engine's
// log still has the beginning. The stamp is the time that the log gives to a frame, with the number of frames of that
// very time which are passed; it is what is left when the log has thrown its beginning away.
type mark struct {
	bytes int64 // or unknown
	stamp int64 // unix nanoseconds
	same  int64 // frames of that stamp
}

// unknown is a count of bytes that began after a gap.
const unknown = -1

// allOfStamp is the same of a live reader, which sees no stamps and takes the time at which it read.
const allOfStamp = math.MaxInt64

const cursorForm = "1-%d.%d.%d-%d.%d.%d"

// cursor is the place as text.
func (p Place) cursor() sandbox.Cursor {
	return sandbox.Cursor(fmt.Sprintf(cursorForm,
		p.stdout.bytes, p.stdout.stamp, p.stdout.same, p.stderr.bytes, p.stderr.stamp, p.stderr.same))
}

// Parse takes the one spelling of a place, and "" for the beginning.
func Parse(c sandbox.Cursor) (Place, error) {
	var p Place
	if c == "" {
		return p, nil
	}
	_, err := fmt.Sscanf(string(c), cursorForm,
		&p.stdout.bytes, &p.stdout.stamp, &p.stdout.same, &p.stderr.bytes, &p.stderr.stamp, &p.stderr.same)
	if err != nil || p.cursor() != c {
		return Place{}, fmt.Errorf("the cursor %q is none of this launcher's", c)
	}
	return p, nil
}

// of is the mark of a stream.
func (p *Place) of(s sandbox.Stream) *mark {
	if s == sandbox.Stdout {
		return &p.stdout
	}
	return &p.stderr
}
