package budget

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	ledgerName = "ledger"
	freshName  = "ledger.new" // while the ledger is rewritten
)

// DamagedError means that a line of the ledger cannot be read, and that it is not a last line that a crash or a power
// cut cut off. The spending is then unknown, and the operator decides: if the file is moved away, all budgets begin
// anew.
type DamagedError struct {
	Dir  string
	Line int
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("line %d of the budgets' ledger in %s is damaged, so the spent amounts are not known (%v); "+
		"restore the file %s, or move it away to start all budgets again from zero", e.Line, e.Dir, e.Err, ledgerName)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// log is the open file of the ledger.
type log struct {
	disk   disk
	file   file
	size   int64
	broken error // the end of the file is unknown, so nothing more is written
}

// load reads the ledger into a book, and returns how many bytes of the file count.
func load(d disk, dir, boot string) (*book, int64, error) {
	raw, err := d.read(ledgerName)
	if err != nil {
		return nil, 0, fmt.Errorf("read the budgets' ledger: %w", err)
	}
	b := newBook()
	size := int64(0)
	for number := 1; len(raw) > 0; number++ {
		line, rest, whole := bytes.Cut(raw, []byte("\n"))
		err := errTorn
		if whole {
			err = read(b, line)
		}
		switch {
		case !errors.Is(err, errTorn):
		case !b.begun && len(rest) == 0, b.begun && isTail(whole, rest, boot != "" && boot == b.boot):
			return b, size, nil
		}
		if err != nil {
			return nil, 0, &DamagedError{Dir: dir, Line: number, Err: err}
		}
		raw = rest
		size += int64(len(line)) + 1
	}
	return b, size, nil
}

// read applies a line to a book.
func read(b *book, line []byte) error {
	r, err := decode(line)
	if err != nil {
		return err
	}
	return b.apply(r)
}

// isTail reports whether an unreadable line is the end that a sudden stop left. A killed process leaves the beginning
// of a line, and nothing after it. A machine that stops may leave anything after the last flushed line.
func isTail(whole bool, rest []byte, sameBoot bool) bool {
	if sameBoot {
		return !whole
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if r, err := decode(line); err == nil && r.provesFlush(len(rest) > 0) {
			return false
		}
	}
	return true
}

// openLog opens the file, cuts it off after its first size bytes, and flushes.
func openLog(d disk, size int64) (*log, error) {
	if err := d.remove(freshName); err != nil {
		return nil, err
	}
	f, err := d.open(ledgerName)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &log{disk: d, file: f, size: size}, nil
}

// here returns nil if the next process will read the lines that this one writes. If the file was moved away or
// replaced, it still takes every line, but all spending from then on would be forgotten when this process ends.
func (l *log) here() error {
	if l.broken == nil && !l.disk.holds(ledgerName, l.file) {
		return fmt.Errorf("the budgets' file %s was removed or replaced while it was in use; put it back, or restart the gateway", ledgerName)
	}
	return l.broken
}

// add appends a line, and flushes it if necessary. Several lines at once are only for a file that has no name yet.
// After an error the line is not in the file, or the log is broken.
func (l *log) add(records ...record) error {
	if l.broken != nil {
		return l.broken
	}
	var text []byte
	flush := false
	for _, r := range records {
		var err error
		if text, err = encode(text, r); err != nil {
			return err
		}
		flush = flush || r.flushed()
	}
	_, err := l.file.Write(text)
	if err == nil && flush {
		err = l.file.Sync()
	}
	if err != nil {
		if undo := l.file.Truncate(l.size); undo != nil {
			l.broken = fmt.Errorf("the ledger is written no more: %w", errors.Join(err, undo))
		}
		return err
	}
	l.size += int64(len(text))
	return nil
}

// replace rewrites the ledger. After an error the old ledger stays in use, or the log is broken.
func (l *log) replace(records []record) error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.disk.remove(freshName); err != nil {
		return err
	}
	f, err := l.disk.open(freshName)
	if err != nil {
		return err
	}
	fresh := &log{disk: l.disk, file: f}
	err = fresh.add(records...)
	if err == nil {
		err = l.disk.rename(freshName, ledgerName)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	old := l.file
	l.file, l.size = fresh.file, fresh.size
	// Until the new name is on the disk, a power cut brings the old file back.
	if err := l.disk.flush(); err != nil {
		l.broken = fmt.Errorf("the ledger is written no more: %w", err)
	}
	return errors.Join(l.broken, old.Close())
}

// end flushes all lines, writes the last one, and closes the file.
func (l *log) end(last record) error {
	err := l.file.Sync()
	if err == nil {
		err = l.add(last)
	}
	return errors.Join(err, l.file.Close())
}
