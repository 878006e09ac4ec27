package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// SQLite reads its log up to the first frame whose checksum is wrong, because that is how a power cut leaves the end of
// it. A frame that rots in the middle would take everything behind it along, without a word. Only the last transaction
// can be one that was never flushed: where two more begin behind a bad frame, at least one of them was reported as done.

// The log's form, from SQLite's documentation: a header, and frames of a header and a page.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // the lowest bit says that checksums are over big-endian words
)

// checkLog refuses a log that has lost more than a power cut takes.
func checkLog(path string) error {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the journal's log: %w", err)
	}
	defer f.Close()
	ok, err := soundLog(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("read the journal's log: %w", err)
	}
	if !ok {
		return damaged(path, "has a log, "+path+"-wal, that is damaged in its middle")
	}
	return nil
}

func soundLog(r io.Reader) (bool, error) {
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return true, notAtEnd(err) // nothing was ever written to it
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(header[4*i:]) }
	page := word(2)
	if word(0)&^1 != logMagic || page < 512 || page > 65536 {
		return allZero(header), nil
	}
	sum := checksum{order: wordOrder(word(0))}
	sum.add(header[:24])
	if !sum.is(header[24:]) {
		return false, nil
	}
	return soundFrames(r, sum, header[16:24], int(page))
}

// soundFrames counts the transactions that end behind the first bad frame. Frames with another salt are of an earlier
// round of the log and mean nothing.
func soundFrames(r io.Reader, sum checksum, salt []byte, page int) (bool, error) {
	frame, bad, behind := make([]byte, frameHeader+page), false, 0
	for behind < 2 {
		if _, err := io.ReadFull(r, frame); err != nil {
			return true, notAtEnd(err)
		}
		ours := string(frame[8:16]) == string(salt)
		sum.add(frame[:8])
		sum.add(frame[frameHeader:])
		bad = bad || !ours || !sum.is(frame[16:frameHeader])
		if bad && ours && binary.BigEndian.Uint32(frame[4:]) != 0 { // it ends a transaction
			behind++
		}
	}
	return false, nil
}

// checksum is the sum over the log so far: each frame's is over all that is in front of it.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func wordOrder(magic uint32) binary.ByteOrder {
	if magic&1 == 1 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (c *checksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c.s0 += c.order.Uint32(data) + c.s1
		c.s1 += c.order.Uint32(data[4:]) + c.s0
	}
}

// is compares with what was written, in whatever order the sum was taken.
func (c *checksum) is(written []byte) bool {
	return binary.BigEndian.Uint32(written) == c.s0 && binary.BigEndian.Uint32(written[4:]) == c.s1
}

func notAtEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func allZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
