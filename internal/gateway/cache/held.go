package cache

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// head is the first line of a kept file. It describes the content that follows.
type head struct {
	Type      string `json:"type"` // the registry's media type
	Size      int64  `json:"size"`
	Algorithm string `json:"algorithm"`
	Sum       string `json:"sum"` // in hexadecimal
}

const maxHead = 4 << 10

// Held is a kept file, open at its first byte.
type Held struct {
	Type   string
	Size   int64
	file   *os.File
	closed func() // tells the cache
}

func (h *Held) Read(p []byte) (int, error) { return h.file.Read(p) }

// Close closes the file. Until then it stays readable, even if it is removed meanwhile, and its bytes count.
func (h *Held) Close() error {
	defer h.closed()
	return h.file.Close()
}

// Find opens a file and verifies that it is as it was kept. It returns nil if there is no such file. ctx ends with the
// child's request, and then Find no longer waits for its turn to read the file. reading ends later, and then Find no longer
// reads.
func (c *Cache) Find(ctx, reading context.Context, key Key) *Held {
	name := key.name()
	file, closed := c.open(name)
	if file == nil {
		return nil
	}
	held, err := c.verified(ctx, reading, name, file, key.Digest)
	if err != nil {
		file.Close()
		closed()
		if ctx.Err() == nil && reading.Err() == nil {
			c.drop(name)
		}
		return nil
	}
	c.touch(name, file)
	held.closed = closed
	return held
}

// verified checks a file's head and content, and then goes to the first byte after the head. It reads the content only if
// the file is new or has changed since it was last read, and one file at a time: a child can ask for a large file often,
// and give up each time. It reads a file to its end although the child has gone, so that the next child finds it read.
func (c *Cache) verified(ctx, reading context.Context, name string, file *os.File, want Digest) (*Held, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, err
	}
	begin := int64(len(line))
	if want != (Digest{}) && (h.Algorithm != want.Algorithm || h.Sum != hex.EncodeToString([]byte(want.Sum))) {
		return nil, errors.New("it has another digest")
	}
	algorithm, ok := algorithms[h.Algorithm]
	if !ok {
		return nil, fmt.Errorf("there is no digest %q", h.Algorithm)
	}
	if !c.isVerified(name, file) {
		select {
		case c.reading <- struct{}{}:
			defer func() { <-c.reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !c.isVerified(name, file) { // another child may have had it read meanwhile
		sum := algorithm()
		if n, err := io.Copy(sum, until{reading, in}); err != nil || n != h.Size || hex.EncodeToString(sum.Sum(nil)) != h.Sum {
			return nil, errors.Join(errors.New("it is damaged"), err)
		}
		c.touch(name, file) // before the next child looks
	}
	if _, err := file.Seek(begin, io.SeekStart); err != nil {
		return nil, err
	}
	return &Held{Type: h.Type, Size: h.Size, file: file}, nil
}

// until is a reader that fails when ctx has ended.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// Draft is a file that is being fetched. One goroutine uses it.
type Draft struct {
	cache *Cache
	key   Key
	file  *os.File
	sum   hash.Hash
	head  head
	taken int64
	err   error // why it will not be kept
}

// Begin begins a draft. It fails if the disk fails or the cache's bound leaves no room.
func (c *Cache) Begin(key Key, mediaType string) (*Draft, error) {
	algorithm := own
	if key.Digest != (Digest{}) {
		algorithm = key.Digest.Algorithm
	}
	begin, ok := algorithms[algorithm]
	if !ok || len(mediaType) > 256 {
		return nil, fmt.Errorf("%q or %q cannot be kept", algorithm, mediaType)
	}
	if !c.take(maxHead) {
		return nil, errFull
	}
	file, err := os.CreateTemp(c.dir, draftPrefix+"*") // 0600
	if err != nil {
		c.giveBack(maxHead)
		return nil, err
	}
	d := &Draft{cache: c, key: key, file: file, sum: begin(), head: head{Type: mediaType, Algorithm: algorithm}, taken: maxHead}
	if _, err := file.Seek(maxHead, io.SeekStart); err != nil {
		d.Drop()
		return nil, err
	}
	return d, nil
}

var errFull = errors.New("it does not fit into the cache")

// Write adds a part. It never fails, so a full disk does not stop the child's download. Keep reports why nothing was
// kept.
func (d *Draft) Write(p []byte) (int, error) {
	if d.err != nil {
		return len(p), nil //nolint:nilerr // Keep returns this error
	}
	if !d.cache.take(int64(len(p))) {
		d.err = errFull
		return len(p), nil
	}
	d.taken += int64(len(p))
	d.head.Size += int64(len(p))
	d.sum.Write(p)
	_, d.err = d.file.Write(p)
	return len(p), nil
}

// Keep keeps the file if it is complete and has the registry's digest. After Keep the draft is over, whatever it
// returns.
func (d *Draft) Keep() (err error) {
	defer func() {
		if err != nil {
			d.Drop()
		}
	}()
	sum := d.sum.Sum(nil)
	want := d.key.Digest
	switch {
	case d.err != nil:
		return d.err
	case want != (Digest{}) && want.Sum != string(sum):
		return errors.New("the file does not have the digest that the registry states")
	}
	d.head.Sum = hex.EncodeToString(sum)
	line, err := json.Marshal(d.head)
	if err != nil {
		return err
	}
	padded := append(line, bytes.Repeat([]byte(" "), maxHead-1-len(line))...)
	if _, err := d.file.WriteAt(append(padded, '\n'), 0); err != nil {
		return err
	}
	if err := d.file.Close(); err != nil {
		return err
	}
	return d.cache.keep(d.file.Name(), d.key.name(), d.taken)
}

// Drop removes the draft.
func (d *Draft) Drop() {
	d.file.Close()
	os.Remove(d.file.Name()) // if this fails, the next Open removes it
	d.cache.giveBack(d.taken)
}
