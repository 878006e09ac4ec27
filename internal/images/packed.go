package images

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// unpacked unpacks a stream that may be packed with gzip or zstd. It recognises them by the first bytes, because the
// manifest may name the wrong one.
func unpacked(r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	begin, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		unzip, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, badStream(err)
		}
		return unzip, nil
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, badStream(err)
		}
		return decoder.IOReadCloser(), nil
	}
	return io.NopCloser(buffered), nil
}

// badStream turns an error of unpacking into an error about the image, if the image is to blame.
func badStream(err error) error {
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return because(err, TooLarge, "a layer needs more than %d bytes of memory to unpack", int64(maxWindow))
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zstd.ErrCRCMismatch):
		return because(err, Malformed, "a layer cannot be unpacked")
	}
	return err
}

// bounded fails when more bytes come than left allows. Its error is about the image.
type bounded struct {
	from io.Reader
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	*b.left -= int64(n)
	if *b.left < 0 {
		return 0, tooManyBytes()
	}
	return n, err
}
