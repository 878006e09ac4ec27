package journal

import (
	"context"
	"fmt"
	"time"

	"torno/delegation"
)

// Begin writes a run that is queued, or ended at once because it is refused. When the key is known, it changes nothing
// and returns the run that is there; existing is nil when the run was written.
//
// A request whose body disagrees with its file's name is an entry without valid ids: it must not use up a key that a
// good request may still need.
func (j *Journal) Begin(ctx context.Context, r Run) (existing *Run, err error) {
	db, err := j.writer()
	if err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.SubagentText, r.RequestText = capped(r.SubagentText), capped(r.RequestText)
	if r.Created.IsZero() {
		r.Created = time.Now()
	}
	result, err := db.ExecContext(ctx, insertRun, r.columns()...)
	if err != nil {
		return nil, j.explain("begin run "+r.Key, err)
	}
	if written, err := result.RowsAffected(); err != nil || written == 1 {
		return nil, j.explain("begin run "+r.Key, err)
	}
	known, err := j.Get(ctx, r.Key)
	return &known, err
}

const insertRun = `INSERT INTO runs (` + columns + `)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (key) DO NOTHING`

// check refuses what no caller may want to write.
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
