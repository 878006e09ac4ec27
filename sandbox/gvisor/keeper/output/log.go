package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Log is a box's output. It has at most two segments, each of half the bound. The oldest segment is dropped when a
// third one begins, but not while a reader has not read it to its end.
type Log struct {
	box  *os.Root
	half int64

	mu      sync.Mutex
	changed chan struct{} // closed at every change, and then replaced
	first   int           // number of the oldest segment
	last    int
	size    int64 // of the last segment
	file    *os.File
	buffer  []byte // for the frame that is being written
	next    Progress
	written Progress // end of each stream's last frame, even if the disk did not take it
	before  Progress // end of the output before the first segment
	middle  Progress // end of the output before the last segment
	patient bool     // Add waits for readers
	closed  bool     // nothing more will come
	readers map[*Reader]bool
}

func segmentName(n int) string { return "log." + strconv.Itoa(n) }

// New begins a new log.
func New(box *os.Root, bound int64) (*Log, error) {
	r := &Log{box: box, half: max(bound/2, MaxFrame+HeaderSize), patient: true, changed: make(chan struct{}), readers: map[*Reader]bool{}}
	return r, r.begin(0)
}

// Old opens a log that is complete: nothing is added any more.
func Old(box *os.Root) (*Log, error) {
	dir, err := box.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var segments []int
	for _, name := range names {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "log.")); err == nil && segmentName(n) == name {
			segments = append(segments, n)
		}
	}
	r := &Log{box: box, closed: true, changed: make(chan struct{}), readers: map[*Reader]bool{}}
	if len(segments) > 0 {
		r.first, r.last = slices.Min(segments), slices.Max(segments)
		info, err := box.Stat(segmentName(r.last))
		if err != nil {
			return nil, err
		}
		r.size = info.Size()
	}
	return r, nil
}

// begin makes a new last segment.
func (r *Log) begin(n int) error {
	file, err := r.box.OpenFile(segmentName(n), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("begin a piece of the log: %w", err)
	}
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.last, r.size, r.middle = file, n, 0, r.written
	return nil
}

// Add appends a piece of output. If the piece cannot be written, it is missing, and every reader will see this.
func (r *Log) Add(ctx context.Context, kind Kind, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Frame{Kind: kind, Offset: *r.next.Of(kind), Bytes: data}
	*r.next.Of(kind) += int64(len(data))
	if err := r.turn(ctx, int64(HeaderSize+len(data))); err != nil {
		return err
	}
	*r.written.Of(kind) = f.Offset + int64(len(data))
	r.buffer = f.append(r.buffer[:0])
	n, err := r.file.WriteAt(r.buffer, r.size)
	if err != nil && n > 0 {
		err = errors.Join(err, r.file.Truncate(r.size)) // no half frames
	} else if err == nil {
		r.size += int64(n)
	}
	r.change()
	return err
}

// turn begins the next segment if size bytes do not fit into the last one. For this it drops the oldest segment, but
// first waits until all readers have read it. Both streams may wait here; the first that goes on makes room for the
// other. After WaitForNobody, turn does not wait: if the oldest segment is unread, the bytes go into the last one.
func (r *Log) turn(ctx context.Context, size int64) error {
	for r.size > 0 && r.size+size > r.half && r.last > r.first && r.isRead(r.first) {
		if !r.patient {
			return nil
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	if r.size == 0 || r.size+size <= r.half {
		return nil
	}
	if r.last > r.first {
		if err := r.box.Remove(segmentName(r.first)); err != nil {
			return err
		}
		r.first++
		r.before = r.middle
	}
	return r.begin(r.last + 1)
}

func (r *Log) isRead(segment int) bool {
	for reader := range r.readers {
		if reader.segment <= segment {
			return true
		}
	}
	return false
}

// wait waits for a change. The caller holds the lock; wait releases it while it waits.
func (r *Log) wait(ctx context.Context) error {
	changed := r.changed
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change wakes everybody who waits. The caller holds the lock.
func (r *Log) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// WaitForNobody makes Add stop waiting for readers. From then on unread output can make the log exceed its bound.
func (r *Log) WaitForNobody() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patient = false
	r.change()
}

// End marks the log as complete. It returns how much output came before the first segment, and how much in all.
func (r *Log) End() (before, all Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.change()
	return r.before, r.next
}

// Reader follows a log. It has one owner.
type Reader struct {
	Before  Progress // end of the output before its first frame
	record  *Log
	segment int
	at      int64
	file    *os.File
}

// Follow returns a reader that begins at the oldest frame.
func (r *Log) Follow() *Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &Reader{Before: r.before, record: r, segment: r.first}
	r.readers[f] = true
	return f
}

// Read returns the next frame, or io.EOF after the last one.
func (f *Reader) Read(ctx context.Context) (Frame, error) {
	more, err := f.find(ctx)
	if err != nil {
		return Frame{}, err
	}
	if f.file == nil {
		if f.file, err = f.record.box.Open(segmentName(f.segment)); err != nil {
			return Frame{}, err
		}
	}
	frame, err := ReadFrame(io.NewSectionReader(f.file, f.at, more))
	if errors.Is(err, errFrame) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && !frame.isOutput() {
		return Frame{}, io.EOF // a keeper was killed while it wrote, or the disk has kept only a part
	}
	f.at += int64(HeaderSize + len(frame.Bytes))
	return frame, err
}

// find waits until there is something to read, and returns how many bytes.
func (f *Reader) find(ctx context.Context) (int64, error) {
	r := f.record
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		size, err := r.sizeOf(f.segment)
		switch {
		case err != nil:
			return 0, err
		case f.at < size:
			return size - f.at, nil
		case f.segment < r.last:
			f.turn()
		case r.closed:
			return 0, io.EOF
		default:
			if err := r.wait(ctx); err != nil {
				return 0, err
			}
		}
	}
}

// sizeOf returns the size of a segment. The caller holds the lock.
func (r *Log) sizeOf(segment int) (int64, error) {
	if segment == r.last {
		return r.size, nil
	}
	info, err := r.box.Stat(segmentName(segment))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// turn goes on to the next segment. The caller holds the log's lock.
func (f *Reader) turn() {
	if f.file != nil {
		f.file.Close()
	}
	f.file, f.at = nil, 0
	f.segment++
	f.record.change()
}

// Close ends the reader, so that the log no longer keeps segments for it.
func (f *Reader) Close() {
	f.record.mu.Lock()
	defer f.record.mu.Unlock()
	delete(f.record.readers, f)
	if f.file != nil {
		f.file.Close()
	}
	f.record.change()
}
