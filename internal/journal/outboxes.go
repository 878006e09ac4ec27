package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"torno/internal/inode"
)

// Outbox holds the lasting facts about an outbox. Its id is in the keys of its runs and never changes.
type Outbox struct {
	ID        string
	Name      string // its present name for people, or its last one
	Named     bool   // false: another outbox has the name now
	Path      string // where its directory was when last seen
	Directory inode.Directory
	Lost      bool // requests in it may have run under a journal that is gone
}

// NewOutboxID returns an id that none of the known outboxes has: 16 hexadecimal digits.
func NewOutboxID(known []Outbox) string {
	for {
		var random [8]byte
		rand.Read(random[:])
		id := hex.EncodeToString(random[:])
		taken := false
		for _, o := range known {
			taken = taken || o.ID == id
		}
		if !taken {
			return id
		}
	}
}

// Outboxes lists every outbox that was ever served.
func (j *Journal) Outboxes(ctx context.Context) ([]Outbox, error) {
	return many(ctx, j, "list the outboxes", listOutboxes, scanOutbox)
}

const listOutboxes = `SELECT id, name, named, path, fsid, inode, birth, boot, lost FROM outboxes ORDER BY name, id`

func scanOutbox(row scanner) (o Outbox, err error) {
	d := &o.Directory
	err = row.Scan(&o.ID, &o.Name, &o.Named, &o.Path, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}, &d.Birth, inodeColumn{&d.Boot}, &o.Lost)
	return o, err
}

// KeepOutboxes stores outboxes in one step, because they may exchange their names. From then on each has its name, and
// an outbox that had the name before loses it. Two outboxes may have directories that only their names tell apart.
func (j *Journal) KeepOutboxes(ctx context.Context, all []Outbox) error {
	return j.order(ctx, "keep the outboxes", onDisk, func(tx *transaction) error {
		for _, o := range all {
			if _, err := tx.exec(freeName, o.Name, o.ID); err != nil {
				return err
			}
			if _, err := tx.exec(unnameOutbox, o.ID); err != nil {
				return err
			}
		}
		for _, o := range all {
			d := o.Directory
			_, err := tx.exec(keepOutbox, o.ID, o.Name, o.Path, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}, d.Birth, inodeColumn{&d.Boot}, o.Lost)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	freeName     = `UPDATE outboxes SET named = 0 WHERE name = ? AND id <> ?`
	unnameOutbox = `UPDATE outboxes SET named = 0 WHERE id = ?`
	keepOutbox   = `INSERT INTO outboxes (id, name, named, path, fsid, inode, birth, boot, lost) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, named = 1, path = excluded.path,
		fsid = excluded.fsid, inode = excluded.inode, birth = excluded.birth, boot = excluded.boot, lost = excluded.lost`
)

// LookedThrough records that a lost outbox was looked through once. Requests that come from now on have not run.
func (j *Journal) LookedThrough(ctx context.Context, outbox string) error {
	return j.order(ctx, "note that an outbox was looked through", onDisk, func(tx *transaction) error {
		_, err := tx.exec(lookedThrough, outbox)
		return err
	})
}

const lookedThrough = `UPDATE outboxes SET lost = 0 WHERE id = ?`

// UnfinishedOf returns at most limit runs of one outbox that still need an end or a response, oldest first.
func (j *Journal) UnfinishedOf(ctx context.Context, outbox string, limit int) ([]Run, error) {
	return j.many(ctx, "list unfinished runs", unfinishedOf, outbox, limit)
}

const unfinishedOf = `SELECT seq, ` + columns + ` FROM runs WHERE answered = 0 AND +outbox = ? ORDER BY seq LIMIT ?`
