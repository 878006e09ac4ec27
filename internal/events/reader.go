package events

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// Reader reads the log of a run. Only one goroutine may use it.
type Reader struct {
	store *Store
	name  string
	wake  chan struct{}

	next   int64 // the number of the event that should come next
	newest int64 // the newest number seen, events before next included
	ended  bool  // the last event says that the run has ended

	file  *os.File // the file with the newest events; nil until it is found
	lines *lines
}

// Read returns a reader for the log of a run. It begins behind the event with the number after; 0 means the whole log.
// The log may not exist yet. The caller must call Close.
func (s *Store) Read(key sandbox.RunKey, after int64) (*Reader, error) {
	r := &Reader{store: s, name: nameOf(key), wake: make(chan struct{}, 1), next: max(after, 0) + 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.readers) >= MaxReaders {
		return nil, ErrReaders
	}
	s.readers[r] = struct{}{}
	return r, nil
}

// Close ends the reader.
func (r *Reader) Close() {
	r.store.mu.Lock()
	delete(r.store.readers, r)
	r.store.mu.Unlock()
	r.shut()
}

func (r *Reader) shut() {
	if r.file != nil {
		_ = r.file.Close() // the file was only read
		r.file = nil
	}
}

// Wake returns a channel that yields a value when there may be more to read.
func (r *Reader) Wake() <-chan struct{} { return r.wake }

func (r *Reader) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Newest returns the number of the newest event read, and whether that event says that the run has ended.
func (r *Reader) Newest() (seq int64, ended bool) { return r.newest, r.ended }

// Each calls emit for all events that were not emitted before, in the order of their numbers. If numbers are missing,
// it first emits an event of type gap that names them.
func (r *Reader) Each(ctx context.Context, emit func(delegation.Event) error) error {
	for {
		if r.file == nil {
			if err := r.open(ctx, emit); err != nil {
				return err
			}
		}
		if r.file == nil {
			return r.beyond(emit)
		}
		if err := r.drain(ctx, r.lines, emit); err != nil {
			return err
		}
		if r.isNewest() {
			return r.beyond(emit)
		}
		// By now this is the older file. Read the lines that were added meanwhile, before the next file.
		if err := r.drain(ctx, r.lines, emit); err != nil {
			return err
		}
		r.shut()
	}
}

// open opens the newest file, then hands on the events of the older one. The newest is opened first, because it may
// become the older one in between.
func (r *Reader) open(ctx context.Context, emit func(delegation.Event) error) error {
	file, err := r.store.dir.Open(r.name + suffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if file != nil {
		r.file, r.lines = file, newLines(file)
	}
	old, err := r.store.dir.Open(r.name + older)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer old.Close()
	return r.drain(ctx, newLines(old), emit)
}

// isNewest reports whether the store still appends to the reader's file.
func (r *Reader) isNewest() bool {
	held, err := r.file.Stat()
	if err != nil {
		return false
	}
	now, err := r.store.dir.Lstat(r.name + suffix)
	return err == nil && os.SameFile(held, now)
}

func (r *Reader) drain(ctx context.Context, from *lines, emit func(delegation.Event) error) error {
	for {
		e, ok, err := from.next()
		if err != nil || !ok {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.take(e, emit); err != nil {
			return err
		}
	}
}

// take emits an event if its turn has come, after a gap event if numbers are missing.
func (r *Reader) take(e delegation.Event, emit func(delegation.Event) error) error {
	if e.Seq > r.newest {
		r.newest, r.ended = e.Seq, e.Type == delegation.EventState && e.State == delegation.StateEnded
	}
	if e.Seq < r.next {
		return nil
	}
	if e.Seq > r.next {
		if err := emit(delegation.MissingEvents(r.next, e.Seq-1, e.Time)); err != nil {
			return err
		}
	}
	r.next = e.Seq + 1
	return emit(e)
}

// beyond handles a reader that asked for events after a number that this log has not reached. It emits a gap event for
// the missing numbers; the reader then continues after the log's newest event.
func (r *Reader) beyond(emit func(delegation.Event) error) error {
	if r.newest+1 >= r.next {
		return nil
	}
	first, last := r.newest+1, r.next-1
	r.next = first
	return emit(delegation.MissingEvents(first, last, time.Now().UTC()))
}
