package output

import (
	"errors"

	"torno/internal/runfile"
	"torno/sandbox"
)

// Init marks the end of both streams, which proves that all of the output has come, and says how init ends.

// endings are both streams on their way to init's marks.
type endings struct{ stdout, stderr runfile.Ending }

// endingsOf know the marks of a token by its digest; "" knows none.
func endingsOf(digest string) *endings {
	return &endings{runfile.Ending{Digest: digest}, runfile.Ending{Digest: digest}}
}

func (e *endings) of(stream sandbox.Stream) *runfile.Ending {
	if stream == sandbox.Stdout {
		return &e.stdout
	}
	return &e.stderr
}

// take is what of a frame can be passed on. At the end of its stream, which is nil, that is what was held back.
func (e *endings) take(stream sandbox.Stream, frame []byte) []byte {
	if frame == nil {
		return e.of(stream).Rest()
	}
	return e.of(stream).Take(frame)
}

// before is a place without what is held back there.
func (e *endings) before(p Place) Place {
	for _, stream := range []sandbox.Stream{sandbox.Stdout, sandbox.Stderr} {
		if m := p.of(stream); m.bytes != unknown {
			m.bytes -= int64(e.of(stream).Held())
		}
	}
	return p
}

// told is the error with which reading ends once init has said the end on both streams.
func (e *endings) told() error {
	end, out := e.stdout.Ended()
	again, err := e.stderr.Ended()
	if out && err && end == again {
		return &toldError{end}
	}
	return nil
}

// toldError is the end of an output that init has marked.
type toldError struct{ end runfile.End }

func (*toldError) Error() string { return "init has said the end" }

// markedEnd is the end that init has said, where that is what has ended the reading.
func markedEnd(err error) (end runfile.End, marked bool) {
	told, marked := errors.AsType[*toldError](err)
	if !marked {
		return runfile.End{}, false
	}
	return told.end, true
}
