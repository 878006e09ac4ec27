package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"torno/internal/inode"
)

// EarlierDirectory is a directory that an outbox had before its present one. It may come back.
type EarlierDirectory struct {
	Outbox    string // its id
	Directory inode.Directory
}

// EarlierDirectories returns the earlier directories that outboxes remember. Until one is given up or forgotten, no run that
// began while the outbox had it is pruned.
func (j *Journal) EarlierDirectories(ctx context.Context) ([]EarlierDirectory, error) {
	return many(ctx, j, "list the earlier directories of outboxes", listEarlier, func(row scanner) (e EarlierDirectory, err error) {
		err = row.Scan(&e.Outbox, inodeColumn{&e.Directory.FileSystem}, inodeColumn{&e.Directory.Inode}, &e.Directory.Birth)
		return e, err
	})
}

const listEarlier = `SELECT outbox, fsid, inode, birth FROM earlier_directories ORDER BY outbox, parted DESC`

// ForgetDirectories forgets the directories that outboxes had to part from before a time.
func (j *Journal) ForgetDirectories(ctx context.Context, before time.Time) error {
	return j.order(ctx, "forget earlier directories", withKernel, func(tx *transaction) error {
		_, err := tx.exec(forgetDirectories, before.UnixNano())
		return err
	})
}

// maxDirectories bounds how many directories an outbox remembers.
const maxDirectories = 16

// moveDirectory remembers an outbox's directory when the outbox gets another one. It returns the last run from before the
// new directory was first used: the new directory's runs come after it.
func moveDirectory(tx *transaction, o Outbox, now time.Time) (since int64, err error) {
	var was inode.Directory
	bound := false
	err = tx.row(boundTo, o.ID).Scan(&bound, inodeColumn{&was.FileSystem}, inodeColumn{&was.Inode}, &was.Birth, &since)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil || !bound || was.Same(o.Directory):
		return since, err
	}
	var newest int64
	if err := tx.row(newestRun).Scan(&newest); err != nil {
		return 0, err
	}
	here := o.Directory
	of := []any{o.ID, inodeColumn{&here.FileSystem}, inodeColumn{&here.Inode}}
	begin := newest
	if err := tx.row(beganBehind, of...).Scan(&begin); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if _, err := tx.exec(dropDirectory, of...); err != nil {
		return 0, err
	}
	_, err = tx.exec(rememberDirectory, o.ID, inodeColumn{&was.FileSystem}, inodeColumn{&was.Inode}, was.Birth, since, newest, now.UnixNano())
	if err == nil {
		_, err = tx.exec(dropDirectories, o.ID, maxDirectories)
	}
	return begin, err
}

const (
	boundTo     = `SELECT bound, fsid, inode, birth, since FROM outboxes WHERE id = ?`
	newestRun   = `SELECT coalesce(max(seq), 0) FROM runs`
	beganBehind = `SELECT since FROM earlier_directories WHERE outbox = ? AND fsid = ? AND inode = ?`

	rememberDirectory = `INSERT INTO earlier_directories (outbox, fsid, inode, birth, since, upto, parted) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET since = excluded.since, upto = excluded.upto, parted = excluded.parted`
	dropDirectory   = `DELETE FROM earlier_directories WHERE outbox = ? AND fsid = ? AND inode = ?`
	dropDirectories = `DELETE FROM earlier_directories WHERE outbox = ?1 AND parted < (
		SELECT parted FROM earlier_directories WHERE outbox = ?1 ORDER BY parted DESC LIMIT 1 OFFSET ?2 - 1)`
	giveUpDirectories = `DELETE FROM earlier_directories WHERE outbox = ?`
	forgetDirectories = `DELETE FROM earlier_directories WHERE parted < ?`
)
