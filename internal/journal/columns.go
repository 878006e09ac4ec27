package journal

import (
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"time"
)

// columns lists all columns of runs except seq, in the order of Run.columns.
const columns = `key, outbox, subagent, request, attempt, subagent_text, request_text, file_name, ino, mtime, ctime, size,
	state, reason, code, field, hint, text, exit_code, stdout_tail, stderr_tail, warnings, profile, launcher, spec_digest,
	workspace, handle, created, starting, made, started, ended, timings, usage, answered, answered_at, sandbox, released, attestation,
	released_boot, released_up, content, firm, parent, parent_run, depth, session, artifacts, terms, ending`

// columns returns pointers that serve both for writing a row and for reading it.
func (r *Run) columns() []any {
	return []any{
		&r.Key, &r.Outbox,
		textColumn{&r.Subagent, &r.Subagent},
		textColumn{&r.Request, &r.Request},
		&r.Attempt,
		rawColumn{&r.SubagentText},
		rawColumn{&r.RequestText},
		rawColumn{&r.FileName},
		inodeColumn{&r.Stamp.Ino},
		stampColumn{&r.Stamp.ModTime},
		stampColumn{&r.Stamp.ChangeTime},
		&r.Stamp.Size,
		&r.State, &r.Reason, &r.Code, &r.Field, &r.Hint, &r.Text, &r.ExitCode,
		rawColumn{&r.StdoutTail},
		rawColumn{&r.StderrTail},
		jsonColumn{&r.Warnings},
		&r.Profile, &r.Launcher, &r.SpecDigest, &r.Workspace,
		jsonColumn{&r.Handle},
		timeColumn{&r.Created},
		timeColumn{&r.Starting},
		timeColumn{&r.Made},
		timeColumn{&r.Started},
		timeColumn{&r.Ended},
		jsonColumn{&r.Timings},
		jsonColumn{&r.Usage},
		&r.Answered,
		timeColumn{&r.AnsweredAt},
		&r.Sandbox,
		timeColumn{&r.Released},
		jsonColumn{&r.Attestation},
		&r.ReleasedIn.ID, (*int64)(&r.ReleasedIn.Up),
		rawColumn{&r.Content},
		&r.Firm,
		&r.Descent.Parent, &r.Descent.Run, &r.Descent.Depth,
		&r.Session,
		jsonColumn{&r.Artifacts},
		jsonColumn{&r.Terms},
		jsonColumn{&r.Ending},
	}
}

// scanner is a row of the database or of a result.
type scanner interface{ Scan(...any) error }

// scan reads a row that was selected as "seq, " + columns.
func scan(row scanner) (Run, error) {
	var r Run
	err := row.Scan(append([]any{&r.Seq}, r.columns()...)...)
	return r, err
}

// rawColumn stores unchecked bytes as a blob and not as text, so that their encoding cannot trouble SQLite.
type rawColumn struct{ p *string }

func (c rawColumn) Value() (driver.Value, error) { return []byte(*c.p), nil }

func (c rawColumn) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return fmt.Errorf("a BLOB is a %T", v)
	}
	*c.p = string(b)
	return nil
}

// textColumn stores a parsed id. Reading parses it again; the empty text is the zero id.
type textColumn struct {
	m encoding.TextMarshaler
	u encoding.TextUnmarshaler
}

func (c textColumn) Value() (driver.Value, error) {
	b, err := c.m.MarshalText()
	return string(b), err
}

func (c textColumn) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("an id is a %T", v)
	}
	if s == "" {
		return nil
	}
	return c.u.UnmarshalText([]byte(s))
}

// timeColumn stores nanoseconds; 0 means no time.
type timeColumn struct{ p *time.Time }

func (c timeColumn) Value() (driver.Value, error) {
	if c.p.IsZero() {
		return int64(0), nil
	}
	return c.p.UnixNano(), nil
}

func (c timeColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", v)
	}
	if n != 0 {
		*c.p = time.Unix(0, n).UTC()
	}
	return nil
}

// stampColumn stores a time that others chose. Any value is valid, 1970 too, and only equality matters.
type stampColumn struct{ p *time.Time }

func (c stampColumn) Value() (driver.Value, error) { return c.p.UnixNano(), nil }

func (c stampColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", v)
	}
	*c.p = time.Unix(0, n).UTC()
	return nil
}

// inodeColumn stores all 64 bits of an inode's number in SQLite's signed integer.
type inodeColumn struct{ p *uint64 }

func (c inodeColumn) Value() (driver.Value, error) { return int64(*c.p), nil }

func (c inodeColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("an inode is a %T", v)
	}
	*c.p = uint64(n)
	return nil
}

// jsonColumn stores a value that is always read as a whole. p points to a slice or a pointer; its nil is stored as
// "null".
type jsonColumn struct{ p any }

func (c jsonColumn) Value() (driver.Value, error) {
	b, err := json.Marshal(c.p)
	return string(b), err
}

func (c jsonColumn) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a JSON text is a %T", v)
	}
	return json.Unmarshal([]byte(s), c.p)
}
