package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// readers bounds how many queries may run at once. They never wait for the writer.
const readers = 4

// Journal is an open journal. Its methods may be called concurrently.
type Journal struct {
	path         string
	installation string
	read         *reader
	write        *sql.DB // one connection; nil if opened for reading only, and so is writer
	writer       *writer
	ended        func(key string) // nil if no function was set
	now          func() time.Time // the time of day that is believed
}

// Open opens the journal at path, and makes it if there is none. The directory must be ours and closed to other users;
// it is made if it is missing. An older journal is migrated. For a newer journal Open returns ErrNewer, for a damaged
// one ErrCorrupt, and leaves both as they are.
func Open(ctx context.Context, path string) (_ *Journal, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find the journal: %w", err)
	}
	if err := prepareDirectory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := check(path)
	if err != nil {
		return nil, err
	}
	if !found {
		if err := create(ctx, path); err != nil {
			return nil, fmt.Errorf("make the journal %s: %w", path, err)
		}
	}
	return open(ctx, path, false)
}

// OpenReadOnly opens an existing journal, whether or not a watcher writes it at the time. If there is none, it returns
// fs.ErrNotExist; for an older journal it returns ErrOlder. Methods that write return ErrReadOnly.
func OpenReadOnly(ctx context.Context, path string) (_ *Journal, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find the journal: %w", err)
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	found, err := checkFiles(path)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, missing(path)
	}
	return open(ctx, path, true)
}

// open connects to an existing journal. The readers connect first, because they can see whose file it is without
// changing anything.
func open(ctx context.Context, path string, readOnly bool) (_ *Journal, err error) {
	j := &Journal{path: path, now: time.Now}
	defer func() {
		if err != nil {
			err = errors.Join(j.explain("open the journal", err), j.Close())
		}
	}()
	db, err := connect(path, reading)
	if err != nil {
		return nil, err
	}
	j.read = newReader(db)
	if err := inspect(ctx, db, path, readOnly); err != nil {
		return nil, err
	}
	err = j.read.QueryRowContext(ctx, `SELECT id FROM installation WHERE one = 1`).Scan(&j.installation)
	if errors.Is(err, sql.ErrNoRows) {
		err = damaged(path, "has lost its installation id")
	}
	if err == nil && !readOnly {
		err = j.openWriter(ctx)
	}
	return j, err
}

// OnEnd makes the journal call tell with the key of every run that ends from now on, once for each, after the end is
// written. OnEnd is called before runs move. tell must not take long and must not write to the journal.
func (j *Journal) OnEnd(tell func(key string)) { j.ended = tell }

// GoBy makes the journal stamp its rows with the believed time of day (package calendar), because callers count the age
// of rows by it. It is called before runs move. Without it the clock counts.
func (j *Journal) GoBy(now func() time.Time) { j.now = now }

func (j *Journal) tellEnd(err error, ends bool, key string) {
	if err == nil && ends && j.ended != nil {
		j.ended(key)
	}
}

// Installation returns 16 hexadecimal digits: random, made with the journal and kept for ever. Everything that this
// host makes carries them, so that it never touches anything of another installation (I14).
func (j *Journal) Installation() string { return j.installation }

// openWriter migrates the journal and accepts orders from then on.
func (j *Journal) openWriter(ctx context.Context) (err error) {
	if j.write, err = connect(j.path, writing); err != nil {
		return err
	}
	if err := migrate(ctx, j.write); err != nil {
		return err
	}
	if j.writer, err = newWriter(j.write); err != nil {
		return err
	}
	return markUse(j.path, markOpen)
}

// Close waits for the present write and closes all connections. It may be called again.
func (j *Journal) Close() error {
	var errs []error
	if j.read != nil {
		errs = append(errs, j.read.Close())
	}
	if j.write != nil {
		errs = append(errs, j.closeWriter())
	}
	return errors.Join(errs...)
}

// closeWriter runs last. Closing the connection folds the log into the file, even if opening the journal had failed
// half-way. The mark of use must tell that beforehand.
func (j *Journal) closeWriter() error {
	if j.writer != nil && j.writer.isClosed() {
		return j.write.Close()
	}
	if j.writer != nil {
		j.writer.stop()
	}
	return errors.Join(markUse(j.path, markClosing), j.write.Close(), unmarkUse(j.path))
}

// order has the writer carry out a write.
func (j *Journal) order(ctx context.Context, doing string, flush flush, do func(*transaction) error) error {
	if j.writer == nil {
		return ErrReadOnly
	}
	return j.explain(doing, j.writer.carryOut(ctx, flush, do))
}
