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

// Change lists the values that a move writes besides the state. A zero field changes nothing.
type Change struct {
	Sandbox           sandbox.SandboxID // with StateStarting: the sandbox that will be made
	Reason            delegation.Reason // always with StateEnded, and only then
	Code              delegation.Code
	Field, Hint, Text string
	ExitCode          *int // required with ReasonExited
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

// Move takes a run from one state to the next, and writes the change in the same step. It returns ErrMoved if the run
// is in another state, ErrUnknown if there is no such run, and ErrIllegal if no run may move that way.
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

// columns returns the arguments of moveRun up to over_at. An absent value is NULL.
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

// Bind binds another sandbox to a run that is starting and was not released. It is called before the sandbox is made.
func (j *Journal) Bind(ctx context.Context, key string, id sandbox.SandboxID) error {
	return j.update(ctx, "bind a sandbox to", key, withKernel, bind, id, key)
}

const bind = `UPDATE runs SET sandbox = ? WHERE key = ? AND state = 'starting' AND released = 0`

// Release records for a starting run: its sandbox, the host's attestation of it, the terms of the run, and that its
// agent may run from now on. It is called before init gets the word (I9). A key is released for one sandbox only (I10);
// for that sandbox Release may be called again.
func (j *Journal) Release(ctx context.Context, key string, h sandbox.Handle, made time.Time, seen sandbox.Attestation, terms sandbox.Spec) error {
	handle, attestation, granted, now, moment := &h, &seen, &terms, time.Now(), boot.Now()
	return j.update(ctx, "release", key, onDisk, release, jsonColumn{&handle}, h.Launcher, timeColumn{&made}, timeColumn{&now},
		moment.ID, int64(moment.Up), jsonColumn{&attestation}, jsonColumn{&granted}, key, h.Sandbox)
}

const release = `UPDATE runs SET handle = ?, launcher = ?, made = ?, released = ?, released_boot = ?, released_up = ?, attestation = ?, terms = ?
	WHERE key = ? AND sandbox = ? AND state = 'starting'`

// NoteSite records the site of a released run's sandbox, if it was not known or its id has changed. It may be called
// again.
func (j *Journal) NoteSite(ctx context.Context, key string, h sandbox.Handle) error {
	handle := &h
	return j.update(ctx, "note the site of", key, withKernel, noteSite, jsonColumn{&handle}, key, h.Sandbox)
}

const noteSite = `UPDATE runs SET handle = ? WHERE key = ? AND sandbox = ? AND handle <> 'null' AND state <> 'ended'`

// NoteAnswered records that the response of an ended run was published, or is not owed. It may be called again.
func (j *Journal) NoteAnswered(ctx context.Context, key string) error {
	now := time.Now()
	return j.update(ctx, "note the response of", key, withKernel, setAnswered, timeColumn{&now}, key)
}

const setAnswered = `UPDATE runs SET answered_at = iif(answered, answered_at, ?), answered = 1 WHERE key = ? AND state = 'ended'`

// NoteUsage records the usage of an ended run, if it was not known at the end. It may be called again.
func (j *Journal) NoteUsage(ctx context.Context, key string, used delegation.Usage) error {
	usage := &used
	return j.update(ctx, "note the usage of", key, withKernel, setUsage, jsonColumn{&usage}, key)
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

// whyNot tells whether the run is in another state or does not exist.
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
