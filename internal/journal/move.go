package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/boot"
	"torno/sandbox"
)

// Change is what a move writes beside the state. A zero field leaves what is there.
type Change struct {
	Sandbox           sandbox.SandboxID // with StateStarting: the sandbox that will be made
	Reason            delegation.Reason // with StateEnded, and only with it
	Code              delegation.Code
	Field, Hint, Text string
	ExitCode          *int // with ReasonExited always
	StdoutTail        string
	StderrTail        string
	Warnings          []string
	Launcher          string
	Started, Ended    time.Time
	Timings           *delegation.Timings
	Usage             *delegation.Usage
	Session           string                // with StateEnded
	Artifacts         []delegation.Artifact // with StateEnded
	Answered          bool                  // with StateEnded: no response is owed
}

// Move takes a run from one state to the next, and writes the change in the same step. It is ErrMoved when the run is in
// another state, ErrUnknown when there is none, ErrIllegal when no run goes that way.
func (j *Journal) Move(ctx context.Context, key string, from, to delegation.State, c Change) error {
	if !legal(from, to) {
		return illegalMove(from, to)
	}
	ends := to == delegation.StateEnded
	if ends != (c.Reason != "") || c.Answered && !ends || c.Reason == delegation.ReasonExited && c.ExitCode == nil {
		return fmt.Errorf("%w: run %s would be %q with the reason %q, answered %v", ErrIllegal, key, to, c.Reason, c.Answered)
	}
	err := j.update(ctx, "move", key, flush(ends), moveRun, append(c.columns(to == delegation.StateStarting, j.now()), to, key, from)...)
	j.tellEnd(err, ends, key)
	return err
}

const moveRun = `UPDATE runs SET
	sandbox = coalesce(?, sandbox), reason = coalesce(?, reason), code = coalesce(?, code), field = coalesce(?, field),
	hint = coalesce(?, hint), text = coalesce(?, text), exit_code = coalesce(?, exit_code),
	stdout_tail = coalesce(?, stdout_tail), stderr_tail = coalesce(?, stderr_tail), warnings = coalesce(?, warnings),
	launcher = coalesce(?, launcher), starting = coalesce(?, starting), started = coalesce(?, started),
	ended = coalesce(?, ended), timings = coalesce(?, timings), usage = coalesce(?, usage),
	session = coalesce(?, session), artifacts = coalesce(?, artifacts), answered = answered OR ?, over_at = coalesce(?, over_at), state = ?
	WHERE key = ? AND state = ?`

// columns returns the arguments of moveRun up to over_at. An absent one is NULL.
func (c *Change) columns(starts bool, believed time.Time) []any {
	now := time.Now()
	return []any{
		given(c.Sandbox != "", c.Sandbox), given(c.Reason != "", c.Reason), given(c.Code != "", c.Code),
		given(c.Field != "", c.Field), given(c.Hint != "", c.Hint), given(c.Text != "", c.Text), c.ExitCode,
		given(c.StdoutTail != "", rawColumn{&c.StdoutTail}), given(c.StderrTail != "", rawColumn{&c.StderrTail}),
		given(c.Warnings != nil, jsonColumn{&c.Warnings}), given(c.Launcher != "", c.Launcher),
		given(starts, timeColumn{&now}),
		given(!c.Started.IsZero(), timeColumn{&c.Started}), given(!c.Ended.IsZero(), timeColumn{&c.Ended}),
		given(c.Timings != nil, jsonColumn{&c.Timings}), given(c.Usage != nil, jsonColumn{&c.Usage}),
		given(c.Session != "", c.Session), given(c.Artifacts != nil, jsonColumn{&c.Artifacts}), c.Answered,
		given(c.Reason != "", timeColumn{&believed}),
	}
}

func given(is bool, v any) any {
	if !is {
		return nil
	}
	return v
}

// Bind binds another sandbox to a run that is starting and was not released. It comes before the sandbox is made.
func (j *Journal) Bind(ctx context.Context, key string, id sandbox.SandboxID) error {
	return j.update(ctx, "bind a sandbox to", key, withKernel, bind, id, key)
}

const bind = `UPDATE runs SET sandbox = ? WHERE key = ? AND state = 'starting' AND released = 0`

// Release notes the sandbox of a run that is starting, what the host saw of it, under which terms it runs, and that its agent may run
// from now on. It comes before the word to init (I9). A key is released for one sandbox (I10): for that one it may be called again.
func (j *Journal) Release(ctx context.Context, key string, h sandbox.Handle, made time.Time, seen sandbox.Attestation, terms sandbox.Spec) error {
	handle, attestation, granted, now, moment := &h, &seen, &terms, time.Now(), boot.Now()
	return j.update(ctx, "release", key, onDisk, release, jsonColumn{&handle}, h.Launcher, timeColumn{&made}, timeColumn{&now},
		moment.ID, int64(moment.Up), jsonColumn{&attestation}, jsonColumn{&granted}, key, h.Sandbox)
}

const release = `UPDATE runs SET handle = ?, launcher = ?, made = ?, released = ?, released_boot = ?, released_up = ?, attestation = ?, terms = ?
	WHERE key = ? AND sandbox = ? AND state = 'starting'`

// NoteSite notes on which site the sandbox of a released run is, where that was not known, or the site has another id
// since. It may be called again.
func (j *Journal) NoteSite(ctx context.Context, key string, h sandbox.Handle) error {
	handle := &h
	return j.update(ctx, "note the site of", key, withKernel, noteSite, jsonColumn{&handle}, key, h.Sandbox)
}

const noteSite = `UPDATE runs SET handle = ? WHERE key = ? AND sandbox = ? AND handle IS NOT NULL AND state <> 'ended'`

// NoteAnswered notes that the response of an ended run was published, or is not owed. It may be called again.
func (j *Journal) NoteAnswered(ctx context.Context, key string) error {
	now := time.Now()
	return j.update(ctx, "note the response of", key, withKernel, setAnswered, timeColumn{&now}, key)
}

const setAnswered = `UPDATE runs SET answered_at = iif(answered, answered_at, ?), answered = 1 WHERE key = ? AND state = 'ended'`

// NoteUsage notes what an ended run has used, where that was not known at its end. It may be called again.
func (j *Journal) NoteUsage(ctx context.Context, key string, used delegation.Usage) error {
	usage := &used
	return j.update(ctx, "note what was used by", key, withKernel, setUsage, jsonColumn{&usage}, key)
}

const setUsage = `UPDATE runs SET usage = ? WHERE key = ? AND state = 'ended'`

// update runs a statement that is guarded by the run's state.
func (j *Journal) update(ctx context.Context, doing, key string, flush flush, statement string, args ...any) error {
	var outcome error
	err := j.order(ctx, doing+" run "+key, flush, func(tx *transaction) (err error) {
		outcome = nil
		changed, err := tx.exec(statement, args...)
		if err == nil && changed == 0 {
			outcome, err = whyNot(tx, key)
		}
		return err
	})
	if err == nil {
		err = j.explain(doing+" run "+key, outcome)
	}
	return err
}

// whyNot tells a run that is in another state from one that does not exist.
func whyNot(tx *transaction, key string) (outcome, err error) {
	var state delegation.State
	switch err := tx.row(getState, key).Scan(&state); err {
	case nil:
		return fmt.Errorf("%w: it is %s", ErrMoved, state), nil
	case sql.ErrNoRows:
		return ErrUnknown, nil
	default:
		return nil, err
	}
}

const getState = `SELECT state FROM runs WHERE key = ?`
