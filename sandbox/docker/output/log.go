package output

import (
	"bytes"
	"errors"
	"io"

	"torno/internal/runfile"
	"torno/sandbox"
)

// Log reads the engine's log from its beginning, and delivers the output after a place. hasFirstLine asks the engine
// whether the log of standard error still begins with init's line: see HasFirstLine.
func Log(log io.ReadCloser, from Place, digest string, hasFirstLine func() (bool, error)) *Reader {
	ends, r := endingsOf(digest), newReplay(from, hasFirstLine)
	return newReader(log, func(stream sandbox.Stream, frame []byte) (_ sandbox.Chunk, err error) {
		if frame != nil {
			if frame, err = r.frame(stream, frame); err != nil || len(frame) == 0 {
				return sandbox.Chunk{}, err
			}
		}
		data := ends.take(stream, frame)
		if len(data) == 0 && (!r.gap || ends.told() == nil) {
			return sandbox.Chunk{}, ends.told()
		}
		return sandbox.Chunk{Stream: stream, Cursor: ends.before(r.place()).cursor(), Bytes: bytes.Clone(data), Gap: r.takeGap()}, ends.told()
	})
}

// frameHeader is the length of the header before each frame: one byte for the stream, three zero bytes, four for the
// size.
const frameHeader = 8

// HasFirstLine reads the beginning of a log of standard error, and reports whether it is init's first line.
func HasFirstLine(log io.Reader) (bool, error) {
	start := make([]byte, frameHeader+max(len(runfile.Holding), len(runfile.Started), len(runfile.Failed)))
	n, err := io.ReadFull(log, start)
	if n <= frameHeader && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return isFirstLine(start[frameHeader:n]), nil
}
