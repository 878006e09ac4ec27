package journal

import (
	"context"
	"database/sql"
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
	if vacuums != incremental || version != 2 {
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
