package events

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"torno/sandbox"
)

// Append adds a segment to the log of a run: whole lines, whose numbers continue after Last. If a segment cannot be
// written, the log lacks it, and readers are told which numbers are missing.
func (s *Store) Append(key sandbox.RunKey, segment []byte) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(key)
	err := s.write(name, segment)
	for r := range s.readers {
		if r.name == name {
			r.wakeUp()
		}
	}
	if err != nil {
		return fmt.Errorf("keep the events of run %s: %w", key, err)
	}
	return nil
}

func (s *Store) write(name string, segment []byte) error {
	file, size, err := s.open(name, int64(len(segment)))
	if err != nil {
		return err
	}
	n, err := file.Write(segment)
	if err != nil && n > 0 {
		err = errors.Join(err, file.Truncate(size)) // half a line would spoil the next line too
	}
	if err == nil {
		s.bytes += int64(n)
		// prune compares this file time with the believed time of day; the kernel took it from a clock that may be
		// wrong.
		err = s.dir.Chtimes(name+suffix, time.Time{}, s.now())
	}
	return errors.Join(err, file.Close())
}

// open opens the file for the next segment of the given length, and returns the file's present size.
func (s *Store) open(name string, more int64) (*os.File, int64, error) {
	const flags = os.O_WRONLY | os.O_APPEND
	file, err := s.dir.OpenFile(name+suffix, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return s.begin(name)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.Size()+more <= s.bounds.Run/2 {
		return file, info.Size(), nil
	}
	_ = file.Close()
	if err == nil {
		if old, err := s.dir.Lstat(name + older); err == nil {
			s.bytes -= old.Size()
		}
		err = s.dir.Rename(name+suffix, name+older)
	}
	if err != nil {
		return nil, 0, err
	}
	file, err = s.create(name)
	return file, 0, err
}

// begin begins the log of another run. If there is no room for it, the oldest logs of the outbox with the most logs go
// first.
func (s *Store) begin(name string) (*os.File, int64, error) {
	if s.number >= s.bounds.Number || s.bytes > s.bounds.Bytes {
		s.prune()
	}
	file, err := s.create(name)
	if err == nil {
		s.number++
	}
	return file, 0, err
}

func (s *Store) create(name string) (*os.File, error) {
	return s.dir.OpenFile(name+suffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
}

// Last returns the number of the last event in the log of a run, or 0 if it has none.
func (s *Store) Last(key sandbox.RunKey) int64 {
	if s == nil {
		return 0
	}
	name := nameOf(key)
	for _, end := range []string{suffix, older} {
		if last := s.lastOf(name + end); last > 0 {
			return last
		}
	}
	return 0
}

func (s *Store) lastOf(name string) (last int64) {
	file, err := s.dir.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	lines := newLines(file)
	for {
		e, ok, err := lines.next()
		if err != nil || !ok {
			return last
		}
		last = max(last, e.Seq)
	}
}
