package journal

import (
	"errors"
	"slices"
	"testing"

	"torno/internal/inode"
)

func outboxes(t *testing.T, j *Journal) map[string]Outbox {
	t.Helper()
	known, err := j.Outboxes(t.Context())
	must(t, err)
	all := map[string]Outbox{}
	for _, o := range known {
		all[o.ID] = o
	}
	return all
}

// TestNamesGoRound: what is kept has its name and its directory. Nothing else has the name; the directory may look like another one's.
func TestNamesGoRound(t *testing.T) {
	ctx := t.Context()
	path := state(t)
	j := open4test(t, path)
	a := Outbox{ID: "a", Name: "one", Named: true, Path: "/1", Directory: inode.Directory{FileSystem: 1 << 63, Inode: 1<<63 + 1, Birth: 7}}
	b := Outbox{ID: "b", Name: "two", Named: true, Path: "/2", Directory: inode.Directory{FileSystem: 2, Inode: 3}, Lost: true}
	must(t, j.KeepOutboxes(ctx, []Outbox{a, b}))
	if all := outboxes(t, j); all["a"] != a || all["b"] != b {
		t.Errorf("kept is %+v", all)
	}
	a.Name, b.Name = b.Name, a.Name
	must(t, j.KeepOutboxes(ctx, []Outbox{a, b}))
	must(t, j.LookedThrough(ctx, "b"))
	b.Lost = false
	must(t, j.Close())
	j = open4test(t, path)
	if all := outboxes(t, j); all["a"] != a || all["b"] != b {
		t.Errorf("exchanged is %+v", all)
	}
	c := Outbox{ID: "c", Name: a.Name, Named: true, Path: "/3", Directory: b.Directory}
	must(t, j.KeepOutboxes(ctx, []Outbox{c}))
	a.Named = false
	if all := outboxes(t, j); all["a"] != a || all["b"] != b || all["c"] != c {
		t.Errorf("with a third one it is %+v", all)
	}
	if id := NewOutboxID([]Outbox{a}); len(id) != 16 {
		t.Errorf("a new id is %q", id)
	}
}

// TestOutboxesOfBeforeKeepTheirKeys: the name of each outbox becomes its id, in whichever table it stands.
func TestOutboxesOfBeforeKeepTheirKeys(t *testing.T) {
	path := firstVersion(t)
	j := open4test(t, path)
	if all := outboxes(t, j); all["main"] != (Outbox{ID: "main", Name: "main", Named: true}) || len(all) != 1 {
		t.Errorf("it has %+v", all)
	}
	must(t, j.Close())
	for _, statement := range []string{
		`INSERT INTO forgotten VALUES (x'00112233445566778899aabbccddeeff', 'pruned', 5)`, `INSERT INTO horizons VALUES ('old', 5)`,
		`DROP TABLE outboxes`, `DROP TABLE earlier_directories`, `DROP TABLE unseen`, `DROP INDEX runs_by_parent`,
		`ALTER TABLE runs DROP COLUMN parent`, `ALTER TABLE runs DROP COLUMN parent_run`, `ALTER TABLE runs DROP COLUMN depth`, `ALTER TABLE runs DROP COLUMN session`, `ALTER TABLE runs DROP COLUMN artifacts`, `ALTER TABLE runs DROP COLUMN terms`,
		`DROP INDEX runs_over`, `ALTER TABLE runs DROP COLUMN over_at`, `CREATE INDEX runs_over ON runs (outbox, ended) WHERE answered = 1`,
		`DROP TRIGGER approvals_of_pruned`, `DROP TABLE approvals`, `DROP TABLE approval_changes`, `DROP TABLE workspaces`, `DROP TABLE leaving_workspaces`, `PRAGMA user_version = 5`,
	} {
		db, err := connect(path, writing)
		must(t, err)
		_, err = db.Exec(statement)
		must(t, errors.Join(err, db.Close()))
	}
	j = open4test(t, path)
	var ids []string
	for id := range outboxes(t, j) {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"main", "old", "pruned"}) {
		t.Errorf("it has %v", ids)
	}
}

func TestTheUnfinishedOfOneOutbox(t *testing.T) {
	j := open4test(t, state(t))
	begin(t, j, queued(t, "main", "a", "r1"))
	begin(t, j, queued(t, "other", "a", "r1"))
	if runs, err := j.UnfinishedOf(t.Context(), "main", 5); err != nil || len(runs) != 1 || runs[0].Outbox != "main" {
		t.Errorf("%+v, %v", runs, err)
	}
}
