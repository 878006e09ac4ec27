package output

import (
	"bytes"
	"io"
	"time"

	"torno/sandbox"
)

// Live reads the stream that was attached to before the start: raw, whole, from its first byte. digest is the digest of
// the token in init's marks.
func Live(stream io.ReadCloser, digest string) *Reader {
	var at Place
	ends := endingsOf(digest)
	return newReader(stream, func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error) {
		data := ends.take(stream, frame)
		if len(data) == 0 {
			return sandbox.Chunk{}, ends.told()
		}
		m := at.of(stream)
		*m = mark{bytes: m.bytes + int64(len(data)), stamp: time.Now().UnixNano(), same: allOfStamp}
		return sandbox.Chunk{Stream: stream, Cursor: at.cursor(), Bytes: bytes.Clone(data)}, ends.told()
	})
}
