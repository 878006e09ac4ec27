package journal

import (
	"context"
	"time"

	"torno/delegation"
	"torno/internal/inode"
)

// Workspace is the directory of a subagent that may be removed one day.
type Workspace struct {
	Outbox    string // its id
	Subagent  delegation.SubagentID
	Directory inode.Directory
	Made      bool      // its client made it for the subagent
	Used      time.Time // when a run in it began or ended, the latest
	Bytes     int64     // its size at the end of the last run; 0 if not known
	Origin    string    // identifies the directory that the host copied; "" if the workspace is no copy
	Base      int64     // bytes of the base beside it, the copy for comparison
}

// Disk returns how many bytes the removal of the workspace would free, as far as known.
func (w Workspace) Disk() int64 { return w.Bytes + w.Base }

// LeavingWorkspace is a workspace that is being removed.
type LeavingWorkspace struct {
	Workspace
	Name string // its temporary name in the same place
}

// NoteWorkspace records that a run begins in a workspace. If its client once made the directory, that stays recorded as
// long as the directory is the same.
func (j *Journal) NoteWorkspace(ctx context.Context, w Workspace) error {
	return j.order(ctx, "note a workspace", withKernel, func(tx *transaction) error {
		_, err := tx.exec(noteWorkspace, w.Outbox, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&w.Directory.FileSystem}, inodeColumn{&w.Directory.Inode},
			w.Directory.Birth, w.Made, timeColumn{&w.Used}, w.Origin, w.Base)
		return err
	})
}

const noteWorkspace = `INSERT INTO workspaces (outbox, subagent, fsid, inode, birth, made, used, bytes, origin, base) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
	ON CONFLICT DO UPDATE SET fsid = excluded.fsid, inode = excluded.inode, birth = excluded.birth, used = excluded.used, bytes = excluded.bytes,
		made = excluded.made OR (made AND fsid = excluded.fsid AND inode = excluded.inode AND birth = excluded.birth),
		origin = CASE WHEN ` + sameCopy + ` THEN origin ELSE excluded.origin END,
		base = CASE WHEN ` + sameCopy + ` THEN base ELSE excluded.base END`

// sameCopy is true when a run begins in a known directory and the row names no origin.
const sameCopy = `excluded.origin = '' AND fsid = excluded.fsid AND inode = excluded.inode AND birth = excluded.birth`

// LeaveWorkspace records that a run in a workspace is over. If the workspace is not known, it records nothing.
func (j *Journal) LeaveWorkspace(ctx context.Context, outbox string, id delegation.SubagentID, bytes int64, now time.Time) error {
	return j.order(ctx, "note the end of a run in a workspace", withKernel, func(tx *transaction) error {
		_, err := tx.exec(leaveWorkspace, timeColumn{&now}, bytes, outbox, textColumn{&id, &id})
		return err
	})
}

const leaveWorkspace = `UPDATE workspaces SET used = ?, bytes = ? WHERE outbox = ? AND subagent = ?`

// Workspaces returns the workspaces of an outbox that may be removed one day, the least recently used first.
func (j *Journal) Workspaces(ctx context.Context, outbox string) ([]Workspace, error) {
	return many(ctx, j, "list workspaces", selectWorkspaces+` ORDER BY used, subagent`, scanWorkspace, outbox)
}

// WorkspaceOf returns the record of a subagent's workspace, if there is one.
func (j *Journal) WorkspaceOf(ctx context.Context, outbox string, id delegation.SubagentID) (w Workspace, known bool, err error) {
	all, err := many(ctx, j, "find a workspace", selectWorkspaces+` AND subagent = ?`, scanWorkspace, outbox, id.String())
	if err != nil || len(all) == 0 {
		return Workspace{}, false, err
	}
	return all[0], true, nil
}

func scanWorkspace(row scanner) (w Workspace, err error) {
	d := &w.Directory
	err = row.Scan(&w.Outbox, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}, &d.Birth, &w.Made, timeColumn{&w.Used}, &w.Bytes, &w.Origin, &w.Base)
	return w, err
}

const selectWorkspaces = `SELECT outbox, subagent, fsid, inode, birth, made, used, bytes, origin, base FROM workspaces WHERE outbox = ?`

// PartWithWorkspace records that a workspace will be removed under the name that it gets next. The record is on the
// disk before the renaming, so that the removal goes on after a crash (I9). It replaces an earlier record of that name.
func (j *Journal) PartWithWorkspace(ctx context.Context, w LeavingWorkspace) error {
	d := w.Directory
	return j.order(ctx, "part with a workspace", onDisk, func(tx *transaction) error {
		if _, err := tx.exec(forgetWorkspace, w.Outbox, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}); err != nil {
			return err
		}
		_, err := tx.exec(partWithWorkspace, w.Outbox, w.Name, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}, d.Birth, w.Made, timeColumn{&w.Used}, w.Origin, w.Base)
		return err
	})
}

const (
	forgetWorkspace   = `DELETE FROM workspaces WHERE outbox = ? AND subagent = ? AND fsid = ? AND inode = ?`
	partWithWorkspace = `INSERT OR REPLACE INTO leaving_workspaces (outbox, name, subagent, fsid, inode, birth, made, used, origin, base) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// LeavingWorkspaces returns the workspaces of an outbox that are being removed.
func (j *Journal) LeavingWorkspaces(ctx context.Context, outbox string) ([]LeavingWorkspace, error) {
	return many(ctx, j, "list workspaces that are being removed", listLeaving, func(row scanner) (w LeavingWorkspace, err error) {
		d := &w.Directory
		err = row.Scan(&w.Outbox, &w.Name, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode}, &d.Birth, &w.Made, timeColumn{&w.Used}, &w.Origin, &w.Base)
		return w, err
	}, outbox)
}

const listLeaving = `SELECT outbox, name, subagent, fsid, inode, birth, made, used, origin, base FROM leaving_workspaces WHERE outbox = ? ORDER BY name`

// ForgetWorkspace removes the record of a workspace whose directory no longer exists.
func (j *Journal) ForgetWorkspace(ctx context.Context, w Workspace) error {
	d := w.Directory
	return j.order(ctx, "forget a workspace", withKernel, func(tx *transaction) error {
		_, err := tx.exec(forgetWorkspace, w.Outbox, textColumn{&w.Subagent, &w.Subagent}, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode})
		return err
	})
}

// WorkspaceGone records that a workspace was removed, or will not be removed after all. If the record by now has another
// directory, it stays.
func (j *Journal) WorkspaceGone(ctx context.Context, w LeavingWorkspace) error {
	d := w.Directory
	return j.order(ctx, "forget a removed workspace", withKernel, func(tx *transaction) error {
		_, err := tx.exec(workspaceGone, w.Outbox, w.Name, inodeColumn{&d.FileSystem}, inodeColumn{&d.Inode})
		return err
	})
}

const workspaceGone = `DELETE FROM leaving_workspaces WHERE outbox = ? AND name = ? AND fsid = ? AND inode = ?`
