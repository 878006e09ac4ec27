package journal

import (
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

func TestTheUnfinishedOfOneOutbox(t *testing.T) {
	j := open4test(t, state(t))
	begin(t, j, queued(t, "main", "a", "r1"))
	begin(t, j, queued(t, "other", "a", "r1"))
	if runs, err := j.UnfinishedOf(t.Context(), "main", 5); err != nil || len(runs) != 1 || runs[0].Outbox != "main" {
		t.Errorf("%+v, %v", runs, err)
	}
}
