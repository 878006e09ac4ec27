package usage

import (
	"encoding/binary"
	"hash/crc32"
)

// A message of Amazon's event stream:
//
//	4 bytes length of all · 4 bytes length of headers · 4 bytes checksum of these · headers · payload · 4 bytes checksum of all
const (
	preludeSize = 12
	trailerSize = 4
	maxMessage  = 24 << 20 // the protocol's own bound
)

// frames reads such a stream. The payload of each message is one document. frames ignores the name in a message's
// headers, because the document's fields tell its kind.
type frames struct {
	tally
	scanner scanner
	inner   inner

	fixed   [preludeSize]byte // first the prelude, later the trailer
	have    int
	headers uint32 // header bytes left
	payload uint32
	inBody  bool
	sum     uint32
}

func newFrames(s shape) *frames {
	f := &frames{tally: tally{shape: s}}
	f.inner = inner{scanner: scanner{root: anthropic.event}, event: f.event, lost: func() { f.lost = true }}
	f.scanner = scanner{root: s.event, inner: &f.inner}
	return f
}

func (f *frames) Usage() (Usage, bool) { return f.usage() }

// Write stops reading at a broken message, because nobody knows where the next one begins.
func (f *frames) Write(p []byte) (int, error) {
	for _, c := range p {
		if f.lost {
			break
		}
		f.read(c)
	}
	return len(p), nil
}

func (f *frames) read(c byte) {
	switch {
	case !f.inBody:
		f.fixed[f.have] = c
		if f.have++; f.have == preludeSize {
			f.prelude()
		}
		return
	case f.headers > 0:
		f.headers--
	case f.payload > 0:
		f.payload--
		f.scanner.read(c)
	default:
		f.fixed[f.have] = c
		if f.have++; f.have == trailerSize {
			f.messageEnd()
		}
		return
	}
	f.sum = crc32.Update(f.sum, crc32.IEEETable, []byte{c})
}

// prelude begins a message.
func (f *frames) prelude() {
	length, headers := binary.BigEndian.Uint32(f.fixed[:]), binary.BigEndian.Uint32(f.fixed[4:])
	const frame = preludeSize + trailerSize
	if crc32.ChecksumIEEE(f.fixed[:8]) != binary.BigEndian.Uint32(f.fixed[8:]) ||
		length < frame || length > maxMessage || headers > length-frame {
		f.lost = true
		return
	}
	f.sum = crc32.ChecksumIEEE(f.fixed[:])
	f.headers, f.payload = headers, length-frame-headers
	f.inBody, f.have = true, 0
}

// messageEnd takes the payload as a document. A message may have no payload.
func (f *frames) messageEnd() {
	switch {
	case binary.BigEndian.Uint32(f.fixed[:]) != f.sum:
		f.lost = true
	case f.scanner.complete():
		f.inner.end()
		f.event(&f.scanner.found)
	case f.scanner.began:
		f.lost = true
	}
	f.scanner.reset()
	f.inBody, f.have = false, 0
}
