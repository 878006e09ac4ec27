package output

import (
	"errors"

	"torno/internal/runfile"
	"torno/sandbox"
)

// Init marks the end of both streams. The marks prove that all output has come, and tell how init ends.

// endings follows both streams until init's marks.
type endings struct{ stdout, stderr runfile.Ending }

// endingsOf returns endings that recognise the marks by the digest of their token; "" recognises none.
func endingsOf(digest string) *endings {
	return &endings{runfile.Ending{Digest: digest}, runfile.Ending{Digest: digest}}
}

func (e *endings) of(stream sandbox.Stream) *runfile.Ending {
	if stream == sandbox.Stdout {
		return &e.stdout
	}
	return &e.stderr
}

// take returns the part of a frame that can be passed on. A nil frame is the end of its stream; then take returns the
// bytes that were held back.
func (e *endings) take(stream sandbox.Stream, frame []byte) []byte {
	if frame == nil {
		return e.of(stream).Rest()
	}
	return e.of(stream).Take(frame)
}

// before returns the place without the bytes that are held back.
func (e *endings) before(p Place) Place {
	for _, stream := range []sandbox.Stream{sandbox.Stdout, sandbox.Stderr} {
		if m := p.of(stream); m.bytes != unknown {
			m.bytes -= int64(e.of(stream).Held())
		}
	}
	return p
}

// told returns the error that ends the reading, once init has marked the end on both streams.
func (e *endings) told() error {
	end, out := e.stdout.Ended()
	again, err := e.stderr.Ended()
	if out && err && end == again {
		return &toldError{end}
	}
	return nil
}

// toldError means that init has marked the end of the output.
type toldError struct{ end runfile.End }

func (*toldError) Error() string { return "init has said the end" }

// markedEnd returns the end that init told, if that is why the reading ended.
func markedEnd(err error) (end runfile.End, marked bool) {
	told, marked := errors.AsType[*toldError](err)
	if !marked {
		return runfile.End{}, false
	}
	return told.end, true
}
