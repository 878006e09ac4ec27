package journal

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"torno/delegation"
)

// Get returns the run with this key, or ErrUnknown.
func (j *Journal) Get(ctx context.Context, key string) (Run, error) {
	r, found, err := j.one(ctx, "read run "+key, getRun, key)
	if err == nil && !found {
		err = j.explain("read run "+key, ErrUnknown)
	}
	return r, err
}

const getRun = `SELECT seq, ` + columns + ` FROM runs WHERE key = ?`

// ByFile finds the run of a file by its stamp: same outbox, same name, and the same inode, size and times. If several
// requests were written at one moment, they can share a stamp; the run's Reading tells whether it belongs to the file.
// ByFile prefers a run with a firm stamp, then the newest.
func (j *Journal) ByFile(ctx context.Context, outbox, fileName string, stamp delegation.Stamp) (Run, bool, error) {
	r := Run{FileName: fileName, Stamp: stamp}
	return j.one(ctx, "look up a request file", byFile, outbox, rawColumn{&r.FileName}, inodeColumn{&r.Stamp.Ino},
		stampColumn{&r.Stamp.ModTime}, stampColumn{&r.Stamp.ChangeTime}, r.Stamp.Size)
}

const byFile = `SELECT seq, ` + columns + ` FROM runs
	WHERE outbox = ? AND file_name = ? AND ino = ? AND mtime = ? AND ctime = ? AND size = ? ORDER BY firm DESC, seq DESC LIMIT 1`

// Latest returns the newest run of a subagent.
func (j *Journal) Latest(ctx context.Context, outbox string, subagent delegation.SubagentID) (Run, bool, error) {
	return j.one(ctx, "look up a subagent", latest, outbox, textColumn{m: &subagent})
}

const latest = `SELECT seq, ` + columns + ` FROM runs WHERE outbox = ? AND subagent = ? ORDER BY seq DESC LIMIT 1`

// Unfinished returns runs that still need an end or a response, oldest first: at most limit of those whose Seq is
// greater than after. The limit matters: a parent can cause any number of such runs, by planting files where their
// responses belong.
func (j *Journal) Unfinished(ctx context.Context, after int64, limit int) ([]Run, error) {
	return j.many(ctx, "list unfinished runs", unfinished, after, limit)
}

// A run that has not ended is never answered, so one flag finds both.
const unfinished = `SELECT seq, ` + columns + ` FROM runs WHERE answered = 0 AND seq > ? ORDER BY seq LIMIT ?`

// defaultLimit is how many runs List returns if the query sets no limit.
const defaultLimit = 1000

// Query chooses runs for List.
type Query struct {
	Outbox     string // "" for all
	ActiveOnly bool   // only runs that have not ended
	Limit      int    // 1000 for 0
	Before     int64  // only runs with a smaller Seq: the last Seq of the page before; 0 for the newest
}

// List returns runs, newest first.
func (j *Journal) List(ctx context.Context, q Query) ([]Run, error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	if q.Before <= 0 {
		q.Before = math.MaxInt64
	}
	const doing = "list runs"
	switch {
	case q.ActiveOnly && q.Outbox != "":
		return j.many(ctx, doing, listActiveOf, q.Outbox, q.Before, q.Limit)
	case q.ActiveOnly:
		return j.many(ctx, doing, listActive, q.Before, q.Limit)
	case q.Outbox != "":
		return j.many(ctx, doing, listOf, q.Outbox, q.Before, q.Limit)
	default:
		return j.many(ctx, doing, listAll, q.Before, q.Limit)
	}
}

const (
	listAll    = `SELECT seq, ` + columns + ` FROM runs WHERE seq < ? ORDER BY seq DESC LIMIT ?`
	listOf     = `SELECT seq, ` + columns + ` FROM runs WHERE outbox = ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	listActive = `SELECT seq, ` + columns + ` FROM runs
		WHERE answered = 0 AND state <> 'ended' AND seq < ? ORDER BY seq DESC LIMIT ?`
	listActiveOf = `SELECT seq, ` + columns + ` FROM runs
		WHERE answered = 0 AND state <> 'ended' AND +outbox = ? AND seq < ? ORDER BY seq DESC LIMIT ?`
)

func (j *Journal) one(ctx context.Context, doing, query string, args ...any) (Run, bool, error) {
	statement, err := j.read.prepared(query)
	if err != nil {
		return Run{}, false, j.explain(doing, err)
	}
	r, err := scan(statement.QueryRowContext(ctx, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, false, nil
	}
	if err != nil {
		return Run{}, false, j.unreadable(ctx, doing, err)
	}
	return r, true, nil
}

func (j *Journal) many(ctx context.Context, doing, query string, args ...any) ([]Run, error) {
	return many(ctx, j, doing, query, scan, args...)
}

// many reads all rows of a query, each with read.
func many[T any](ctx context.Context, j *Journal, doing, query string, read func(scanner) (T, error), args ...any) (all []T, err error) {
	statement, err := j.read.prepared(query)
	if err != nil {
		return nil, j.explain(doing, err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, j.explain(doing, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := read(rows)
		if err != nil {
			return nil, j.unreadable(ctx, doing, err)
		}
		all = append(all, r)
	}
	return all, j.explain(doing, rows.Err())
}
