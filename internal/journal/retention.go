package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"torno/delegation"
)

// Retention bounds how much a journal keeps of runs that are over. A bound of zero does not apply.
type Retention struct {
	Age           time.Duration // since the end of a run
	Runs          int           // of each outbox, the newest
	Size          int64         // of the file
	MaxRequestAge time.Duration // how long the key of a pruned run is remembered, counted from its request
}

// maxKeys bounds how many keys of pruned runs are remembered for one outbox, about 100 MB. An endless flood of requests
// reaches it. The oldest keys are dropped first, and then requests that are as old or older are refused.
const maxKeys = 1_000_000

// MaxSkew is how far ahead of its arrival a request's time may lie, because the clocks of guests and of file servers
// differ.
const MaxSkew = 24 * time.Hour

// Over is a row that may be pruned if its request is gone.
type Over struct {
	Key      string
	FileName string
	Stamp    delegation.Stamp // as in Run
	overAt   int64
	seq      int64
}

// OverSince returns a time: runs of the outbox that ended before it, by the time believed then, are over the bounds. It
// returns the zero time if no run is.
func (j *Journal) OverSince(ctx context.Context, outbox string, r Retention, now time.Time) (since time.Time, err error) {
	if r.Age > 0 {
		since = now.Add(-r.Age)
	}
	if r.Runs > 0 {
		if since, err = j.later(ctx, since, beyondCount, outbox, r.Runs-1); err != nil {
			return since, err
		}
	}
	if size, err := j.Size(ctx); err != nil || r.Size == 0 || size.Used <= r.Size {
		return since, err
	}
	return j.later(ctx, since, oldestShare, outbox)
}

const (
	beyondCount = `SELECT over_at FROM runs WHERE outbox = ? AND answered = 1 ORDER BY over_at DESC LIMIT 1 OFFSET ?`
	// A sixteenth at a time: the size is measured again before more is pruned. An outbox that has less than its share of the
	// rows loses none: another parent may keep the journal large.
	oldestShare = `SELECT over_at + 1 FROM runs WHERE outbox = ?1 AND answered = 1
		AND (SELECT count(*) FROM runs WHERE outbox = ?1) * (SELECT count(DISTINCT outbox) FROM runs) >= (SELECT count(*) FROM runs)
		ORDER BY over_at LIMIT 1 OFFSET (SELECT count(*) FROM runs WHERE outbox = ?1 AND answered = 1) / 16`
)

// later returns the later of since and the time that a query finds, or since if the query finds nothing.
func (j *Journal) later(ctx context.Context, since time.Time, query string, args ...any) (time.Time, error) {
	var found time.Time
	statement, err := j.read.prepared(query)
	if err == nil {
		err = statement.QueryRowContext(ctx, args...).Scan(timeColumn{&found})
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if since.After(found) {
		found = since
	}
	return found, j.explain("look for runs that are over", err)
}

// ListOver returns answered runs of an outbox that ended before a time, the earliest first. after is the last run of
// the previous list; ListOver continues behind it.
func (j *Journal) ListOver(ctx context.Context, outbox string, before time.Time, after Over, limit int) ([]Over, error) {
	return many(ctx, j, "list runs that are over", listOver, scanOver, outbox, before.UnixNano(), after.overAt, after.seq, limit)
}

const listOver = `SELECT key, file_name, ino, mtime, ctime, size, over_at, seq FROM runs
	WHERE outbox = ? AND answered = 1 AND over_at < ? AND (over_at, seq) > (?, ?) ORDER BY over_at, seq LIMIT ?`

func scanOver(row scanner) (o Over, err error) {
	err = row.Scan(&o.Key, rawColumn{&o.FileName}, inodeColumn{&o.Stamp.Ino}, stampColumn{&o.Stamp.ModTime},
		stampColumn{&o.Stamp.ChangeTime}, &o.Stamp.Size, &o.overAt, &o.seq)
	return o, err
}

// Forget prunes rows and remembers their keys, in one step. If a run has been given another file since it was listed,
// its row stays. The caller has checked that the requests are gone (I10).
func (j *Journal) Forget(ctx context.Context, rows []Over) error {
	return j.order(ctx, "prune runs", withKernel, func(tx *transaction) error {
		for _, o := range rows {
			file := []any{o.Key, inodeColumn{&o.Stamp.Ino}, stampColumn{&o.Stamp.ChangeTime}}
			if _, err := tx.exec(keepKey, append(file, MaxSkew)...); err != nil {
				return err
			}
			if _, err := tx.exec(deleteRun, file...); err != nil {
				return err
			}
		}
		return nil
	})
}

// A request may be written before the host notices it, or, judging by its file's time, a little later. asked is the
// later of the two, but at most MaxSkew after the host's first look. So a request that comes back with its old time is
// not newer than asked.
const (
	keepKey = `INSERT INTO forgotten (key, outbox, asked)
		SELECT unhex(key), outbox, max(created, min(mtime, created + ?4)) FROM runs
		WHERE key = ?1 AND ino = ?2 AND ctime = ?3 AND answered = 1 AND attempt > 0
		ON CONFLICT (key) DO NOTHING`
	deleteRun = `DELETE FROM runs WHERE key = ? AND ino = ? AND ctime = ? AND answered = 1`
)

// KeysSince returns a time: keys of the outbox whose requests were asked before it may be dropped, because they are
// older than a request may be, or too many.
func (j *Journal) KeysSince(ctx context.Context, outbox string, r Retention, now time.Time) (time.Time, error) {
	return j.keysSince(ctx, outbox, r, now, maxKeys)
}

func (j *Journal) keysSince(ctx context.Context, outbox string, r Retention, now time.Time, most int) (time.Time, error) {
	return j.later(ctx, now.Add(-r.MaxRequestAge), beyondKeys, outbox, most-1)
}

const beyondKeys = `SELECT asked FROM forgotten WHERE outbox = ? ORDER BY asked DESC LIMIT 1 OFFSET ?`

// DropKeys drops keys of an outbox whose requests were asked before a time, at most limit at once. It reports whether
// there were any. In the same step it moves the outbox's horizon to the newest of them: from then on only newer
// requests begin, whatever the clock says (I10).
func (j *Journal) DropKeys(ctx context.Context, outbox string, before time.Time, limit int) (dropped bool, err error) {
	err = j.order(ctx, "drop keys", withKernel, func(tx *transaction) error {
		var horizon sql.NullInt64
		err := tx.row(oldestKeys, outbox, before.UnixNano(), limit).Scan(&horizon)
		if dropped = horizon.Valid; err != nil || !dropped {
			return err
		}
		if _, err := tx.exec(raiseHorizon, outbox, horizon.Int64); err != nil {
			return err
		}
		_, err = tx.exec(dropKeys, outbox, horizon.Int64)
		return err
	})
	return dropped, err
}

const (
	oldestKeys   = `SELECT max(asked) FROM (SELECT asked FROM forgotten WHERE outbox = ? AND asked < ? ORDER BY asked LIMIT ?)`
	raiseHorizon = `INSERT INTO horizons (outbox, asked) VALUES (?, ?)
		ON CONFLICT (outbox) DO UPDATE SET asked = max(asked, excluded.asked)`
	dropKeys = `DELETE FROM forgotten WHERE outbox = ? AND asked <= ?`
)

// OutboxesWithKeys returns the outboxes that have remembered keys, including outboxes that are no longer served.
func (j *Journal) OutboxesWithKeys(ctx context.Context) ([]string, error) {
	return many(ctx, j, "list remembered keys", outboxesWithKeys, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	})
}

// One step in the index for each outbox, not one for each key.
const outboxesWithKeys = `WITH RECURSIVE o (name) AS (
		SELECT min(outbox) FROM forgotten
		UNION ALL SELECT (SELECT min(outbox) FROM forgotten WHERE outbox > name) FROM o WHERE name IS NOT NULL)
	SELECT name FROM o WHERE name IS NOT NULL`
