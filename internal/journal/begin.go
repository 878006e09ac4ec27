package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
)

// Begin writes a run that is queued, or that ended at once because it is refused. If it wrote the run, existing is nil.
// If the key is known, Begin returns the existing run. If that run was not released and shall begin again, Begin first
// updates its warnings, profile, launcher, spec digest and workspace, because these may have changed. If a run of the
// key existed but its row is gone, or if that can no longer be found out, Begin returns ErrForgotten.
//
// If a request's body disagrees with its file's name, the caller must begin it as an entry without valid ids: it must
// not use up a key that a good request may still need.
func (j *Journal) Begin(ctx context.Context, r Run) (existing *Run, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	r.SubagentText, r.RequestText = capped(r.SubagentText), capped(r.RequestText)
	if r.Created.IsZero() {
		r.Created = time.Now()
	}
	doing, forgotten, overAt := "begin run "+r.Key, false, j.overAt(r)
	err = j.order(ctx, doing, flush(r.State == delegation.StateEnded), func(tx *transaction) error {
		existing, forgotten = nil, false
		if written, err := tx.exec(insertRun, append(r.columns(), overAt)...); err != nil || written == 1 {
			return err
		}
		if r.State == delegation.StateQueued {
			if _, err := tx.exec(renewRun, jsonColumn{&r.Warnings}, r.Profile, r.Launcher, r.SpecDigest, r.Workspace, r.Key); err != nil {
				return err
			}
		}
		known, err := scan(tx.row(getRun, r.Key))
		if forgotten = errors.Is(err, sql.ErrNoRows); forgotten {
			return nil
		}
		existing = &known
		return err
	})
	if err == nil && forgotten {
		err = j.explain(doing, ErrForgotten)
	}
	j.tellEnd(err, existing == nil && r.State == delegation.StateEnded, r.Key)
	return existing, err
}

// If a key was dropped, a request with the same or an earlier time may be the dropped one, so it does not begin. An
// entry without valid ids never ran, so it may begin again.
const insertRun = `INSERT INTO runs (` + columns + `, over_at)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
		?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51
	WHERE ?5 = 0 OR NOT EXISTS (SELECT 1 FROM forgotten WHERE key = unhex(?1))
		AND NOT EXISTS (SELECT 1 FROM horizons WHERE outbox = ?2 AND asked >= ?10)
	ON CONFLICT (key) DO NOTHING`

// overAt returns the value of the column over_at for a run that begins: a refused run is over at once.
func (j *Journal) overAt(r Run) timeColumn {
	var at time.Time
	if r.State == delegation.StateEnded {
		at = j.now()
	}
	return timeColumn{&at}
}

const renewRun = `UPDATE runs SET warnings = ?, profile = ?, launcher = ?, spec_digest = ?, workspace = ?
	WHERE key = ? AND handle = 'null' AND state IN ('queued', 'starting')`

// check refuses rows that only a mistaken caller would write.
func (r Run) check() error {
	switch {
	case r.State != delegation.StateQueued && r.State != delegation.StateEnded:
		return fmt.Errorf("%w: run %s would begin as %q", ErrIllegal, r.Key, r.State)
	case (r.State == delegation.StateEnded) != (r.Reason != ""):
		return fmt.Errorf("%w: run %s would begin as %q with the reason %q", ErrIllegal, r.Key, r.State, r.Reason)
	case r.Key != r.wantKey():
		return fmt.Errorf("%w: run %s has the key of another run, its own is %s", ErrIllegal, r.Key, r.wantKey())
	}
	return nil
}

func capped(text string) string {
	return text[:min(len(text), maxIDText)]
}
