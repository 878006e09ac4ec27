package journal

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
)

// TestTheFirstVersionIsBroughtUpToDate opens a journal as the first version left it.
func TestTheFirstVersionIsBroughtUpToDate(t *testing.T) {
	ctx := context.Background()
	path := firstVersion(t)
	j := open4test(t, path)
	if j.Installation() != "0123456789abcdef" {
		t.Errorf("the installation is %s", j.Installation())
	}
	r := get(t, j, "k1")
	if r.State != delegation.StateEnded || r.StdoutTail != "out" || !r.Answered || !r.Made.IsZero() {
		t.Errorf("the row became %+v", r)
	}
	var vacuums, version int
	must(t, j.write.QueryRow(`SELECT (SELECT auto_vacuum FROM pragma_auto_vacuum), (SELECT user_version FROM pragma_user_version)`).Scan(&vacuums, &version))
	if vacuums != incremental || version != 14 {
		t.Errorf("auto_vacuum is %d, the version %d", vacuums, version)
	}
	begin(t, j, queued(t, "main", "a", "r1"))
	must(t, j.Close())
	if ro, err := OpenReadOnly(ctx, path); err != nil || ro.Close() != nil {
		t.Error(err)
	}
}

// firstVersion makes a journal with the first migration alone, as it was before files could shrink.
func firstVersion(t *testing.T) string {
	t.Helper()
	all, err := migrations()
	must(t, err)
	path := state(t)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, nil, 0o600))
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	must(t, err)
	for _, statement := range []string{all[0], `INSERT INTO installation (one, id) VALUES (1, '0123456789abcdef')`, `INSERT INTO runs VALUES
		(1, 'k1', 'main', 'a', 'r0', 1, x'', x'', x'72', 1, 2, 3, 4, 'ended', 'exited', '', '', '', '', 0, x'6f7574', x'',
		'null', 'p', 'docker', 'd', '/w', 'null', 5, 6, 7, 'null', 'null', 1)`} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	must(t, db.Close())
	must(t, os.Chmod(path, 0o600))
	return path
}

// TestSandboxesOfBeforeAreTheirRuns: a sandbox that was noted may have run, and was not looked at; one that may have been made
// and was not noted is found again by the run's key, which is its name.
func TestSandboxesOfBeforeAreTheirRuns(t *testing.T) {
	path := secondVersion(t)
	j := open4test(t, path)
	noted, made, waits := get(t, j, "k1"), get(t, j, "k2"), get(t, j, "k3")
	if noted.Handle == nil || noted.Handle.Sandbox != "k1" || noted.Handle.ID != "c1" || noted.Handle.Slot != 3 ||
		noted.Sandbox != "k1" || noted.Released.UnixNano() != 7 || !noted.ReleasedIn.IsZero() || noted.Attestation != nil || noted.Terms != nil {
		t.Errorf("the run that had a sandbox became %+v, %+v", noted, noted.Handle)
	}
	if made.Handle != nil || made.Sandbox != "k2" || !made.Released.IsZero() {
		t.Errorf("the run that may have one became %+v", made)
	}
	if waits.Sandbox != "" || !waits.Released.IsZero() {
		t.Errorf("the run that waits became %+v", waits)
	}
}

// secondVersion makes a journal with the first two migrations and three runs that have not ended.
func secondVersion(t *testing.T) string {
	t.Helper()
	all, err := migrations()
	must(t, err)
	path := firstVersion(t)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	must(t, err)
	const fields = `INSERT INTO runs (key, outbox, subagent, request, attempt, subagent_text, request_text, file_name, ino, mtime, ctime, size,
		state, reason, code, field, hint, text, stdout_tail, stderr_tail, warnings, profile, launcher, spec_digest, workspace, handle, created,
		started, ended, timings, usage, answered, made) VALUES `
	row := func(key, state, handle string, made int) string {
		return fmt.Sprintf(`%s('%s', 'main', '%s', 'r', 1, x'', x'', x'72', 1, 2, 3, 4, '%s', '', '', '', '', '', x'', x'', 'null', 'p', 'docker',
			'd', '/w', '%s', 5, 0, 0, 'null', 'null', 0, %d)`, fields, key, key, state, handle, made)
	}
	for _, statement := range []string{
		all[1], `DELETE FROM runs`, row("k1", "running", `{"launcher":"docker","id":"c1","key":"k1","slot":3}`, 7),
		row("k2", "starting", "null", 0), row("k3", "queued", "null", 0),
	} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	must(t, db.Close())
	return path
}
