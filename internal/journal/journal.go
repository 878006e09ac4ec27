package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
)

// readers is how many queries may run at once. They never wait for the writer.
const readers = 4

// Journal is an open journal. Methods may be called concurrently.
type Journal struct {
	path         string
	installation string
	write        *sql.DB // one connection; nil when opened for reading only
	read         *sql.DB
}

// Open opens the journal at path, and makes it when there is none. The directory must be ours and closed to others; it
// is made if it is missing. An older journal is brought up to date; a newer one is ErrNewer and a damaged one
// ErrCorrupt, and both stay as they are.
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
	found, err := checkFiles(path)
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

// OpenReadOnly opens a journal that exists, while a watcher writes it or while none runs. Where there is none the error
// is fs.ErrNotExist; an older one is ErrOlder. Methods that write return ErrReadOnly.
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

// open connects to a journal that exists. The readers come first: they see, without changing anything, whose file it is.
func open(ctx context.Context, path string, readOnly bool) (_ *Journal, err error) {
	j := &Journal{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(j.explain("open the journal", err), j.Close())
		}
	}()
	if j.read, err = connect(path, reading); err != nil {
		return nil, err
	}
	if err := inspect(ctx, j.read, path, readOnly); err != nil {
		return nil, err
	}
	if !readOnly {
		if j.write, err = connect(path, writing); err != nil {
			return nil, err
		}
		if err := migrate(ctx, j.write); err != nil {
			return nil, err
		}
	}
	err = j.read.QueryRowContext(ctx, `SELECT id FROM installation WHERE one = 1`).Scan(&j.installation)
	if errors.Is(err, sql.ErrNoRows) {
		err = damaged(path, "has lost its installation id")
	}
	return j, err
}

// Installation is 16 hexadecimal digits: random, made with the journal and kept for ever. What this host makes carries
// them, so that it never touches what another installation made (I14).
func (j *Journal) Installation() string { return j.installation }

// Close ends all connections. It may be called again.
func (j *Journal) Close() error {
	var errs []error
	for _, db := range []*sql.DB{j.read, j.write} { // the writer last: it folds the log into the file
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// writer is the connection that writes.
func (j *Journal) writer() (*sql.DB, error) {
	if j.write == nil {
		return nil, ErrReadOnly
	}
	return j.write, nil
}
