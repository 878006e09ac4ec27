package output

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kind is the kind of a frame.
type Kind byte

// The first kinds are frames from a keeper; Input, Shut, Release and Arrive come from an attached watcher.
const (
	Stdout  Kind = 'o'
	Stderr  Kind = 'e'
	Running Kind = 'r' // the runtime has started the sandbox
	Missing Kind = 'm' // output up to this place, a Progress, was dropped
	Ended   Kind = 'x' // the last frame; it holds an End
	Done    Kind = 'd' // a request on a connection of its own was carried out
	Input   Kind = 'i' // data for the agent's standard input
	Shut    Kind = 'c' // the agent's standard input ends
	Release Kind = 'g' // give init the word that it waits for
	Arrive  Kind = 'a' // holds an Arrival
	Refused Kind = 'n' // why a request on a connection of its own was refused
)

// Frame is a piece of output with its place in its stream, or a word between keeper and watcher.
type Frame struct {
	Kind   Kind
	Offset int64
	Bytes  []byte
}

// These are sizes of a frame in transit, in bytes.
const (
	HeaderSize = 1 + 8 + 4
	MaxFrame   = 32 << 10 // the most that Bytes may hold
)

// errFrame says that the bytes that were read are not a frame.
var errFrame = errors.New("no frame")

// Write sends a frame.
func (f Frame) Write(w io.Writer) error {
	_, err := w.Write(f.append(nil))
	return err
}

func (f Frame) append(data []byte) []byte {
	data = append(data, byte(f.Kind))
	data = binary.BigEndian.AppendUint64(data, uint64(f.Offset))
	data = binary.BigEndian.AppendUint32(data, uint32(len(f.Bytes)))
	return append(data, f.Bytes...)
}

// ReadFrame receives a frame.
func ReadFrame(r io.Reader) (Frame, error) {
	var header [HeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(header[9:])
	f := Frame{Kind: Kind(header[0]), Offset: int64(binary.BigEndian.Uint64(header[1:]))}
	if size > MaxFrame || f.Offset < 0 || f.Offset > math.MaxInt64-MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes at %d", errFrame, size, f.Offset)
	}
	f.Bytes = make([]byte, size)
	if _, err := io.ReadFull(r, f.Bytes); err != nil {
		return Frame{}, fmt.Errorf("%w: %w", errFrame, err)
	}
	return f, nil
}

// isOutput reports whether a frame can be part of a log.
func (f Frame) isOutput() bool { return (f.Kind == Stdout || f.Kind == Stderr) && len(f.Bytes) > 0 }
