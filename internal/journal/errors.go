package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"torno/delegation"
)

// Errors that a caller may want to tell apart. Each is wrapped with a text that names the action and the run or file.
var (
	ErrUnknown   = errors.New("the journal has no such run")
	ErrForgotten = errors.New("there was, or may have been, a run with this key, but its record is gone")
	ErrMoved     = errors.New("the run is in another state by now")
	ErrIllegal   = errors.New("the journal does not allow this change") // a mistake of the caller
	ErrReadOnly  = errors.New("the journal was opened for reading only")
	ErrClosed    = errors.New("the journal is closed")
	ErrUnsafe    = errors.New("others could read or change the journal")
	ErrCorrupt   = errors.New("the journal is damaged")
	ErrNewer     = errors.New("the journal was written by a newer version")
	ErrOlder     = errors.New("the journal was written by an older version")
)

// VersionError means that a journal's schema has another version than this program's. It is ErrNewer or ErrOlder.
type VersionError struct {
	Path         string
	Found, Known int
}

func (e *VersionError) Error() string {
	if e.Found > e.Known {
		return fmt.Sprintf("the journal %s has version %d, but this program knows only versions up to %d: run the newer program. "+
			"The journal was not changed. Without it, requests that still lie in an outbox would run again", e.Path, e.Found, e.Known)
	}
	return fmt.Sprintf("the journal %s has version %d, but this program needs version %d: start the watcher once; it updates the journal",
		e.Path, e.Found, e.Known)
}

// Is makes errors.Is tell the two directions apart.
func (e *VersionError) Is(target error) bool {
	return target == ErrNewer && e.Found > e.Known || target == ErrOlder && e.Found < e.Known
}

// illegalMove returns the error for a pair of states that no run goes through.
func illegalMove(from, to delegation.State) error {
	return fmt.Errorf("%w: no run goes from %q to %q", ErrIllegal, from, to)
}

// damaged returns an error that names the file and the next step. The file stays as it is: it may be the only record of
// the runs.
func damaged(path, what string) error {
	return fmt.Errorf("%w: %s %s. Keep a copy; then try `sqlite3 %s .recover`, or move it away together with its "+
		"-wal, -shm and .open. Without it, requests that still lie in an outbox run again", ErrCorrupt, path, what, path)
}

// unreadable explains a row that could not be read. If neither the database nor the caller's context failed, the row
// holds a value that we never wrote.
func (j *Journal) unreadable(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil && primary(err) == 0 {
		err = damaged(j.path, "holds a row that was never written ("+err.Error()+")")
	}
	return j.explain(doing, err)
}

// explain wraps a database error with the action that failed, and recognises damage.
func (j *Journal) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if isDamage(err) {
		return fmt.Errorf("%s: %w", doing, damaged(j.path, "cannot be read ("+err.Error()+")"))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isDamage reports whether an error means damage. Our statements are constant, so a missing table or column was removed
// or renamed in the file.
func isDamage(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	case sqlite3.SQLITE_ERROR:
		return strings.Contains(err.Error(), "no such ")
	}
	return false
}

func isFull(err error) bool { return primary(err) == sqlite3.SQLITE_FULL }

// primary returns the general one of SQLite's two error codes, or 0 if err is not from SQLite.
func primary(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
