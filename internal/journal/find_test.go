package journal

import (
	"context"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
)

func TestNamed(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, r := range []Run{
		queued(t, "main", "a", "r1"), queued(t, "main", "a", "r2"), queued(t, "other", "a", "r3"), queued(t, "main", "b", "r4"),
	} {
		begin(t, j, r)
	}
	for _, c := range []struct {
		outbox, name string
		want         []string
	}{
		{"", "a", []string{"other/r3", "main/r2"}},
		{"main", "a", []string{"main/r2"}},
		{"", "b", []string{"main/r4"}},
		{"other", "b", []string{}},
		{"nowhere", "a", []string{}},
		{"", "c", []string{}},
	} {
		got, err := j.Named(ctx, c.outbox, c.name)
		if err != nil || !slices.Equal(requests(got), c.want) {
			t.Errorf("Named(%q, %q) = %v, %v; want %v", c.outbox, c.name, requests(got), err, c.want)
		}
	}
}

func TestNamedFindsWhatHasNoValidID(t *testing.T) {
	j := open4test(t, state(t))
	r := full(t)
	r.Subagent, r.Request = delegation.SubagentID{}, delegation.RequestID{}
	r.Attempt, r.SubagentText = 0, "no id!\xff"
	r.Key = EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content)
	begin(t, j, r)
	got, err := j.Named(context.Background(), "", "no id!\xff")
	if err != nil || len(got) != 1 || got[0].Key != r.Key {
		t.Errorf("Named = %+v, %v", got, err)
	}
}

func TestWithPrefix(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	var keys []string
	for _, request := range []string{"r1", "r2", "r3", "r4"} {
		keys = append(keys, begin(t, j, queued(t, "main", "a", request)).Key)
	}
	for _, key := range keys {
		for _, n := range []int{8, len(key)} {
			if got, err := j.WithPrefix(ctx, key[:n], 2); err != nil || len(got) != 1 || got[0].Key != key {
				t.Errorf("WithPrefix(%q) = %+v, %v", key[:n], got, err)
			}
		}
	}
	for prefix, want := range map[string]int{"": 3, "zz": 0, strings.ToUpper(keys[0]): 0, keys[0] + "0": 0} {
		if got, err := j.WithPrefix(ctx, prefix, 3); err != nil || len(got) != want {
			t.Errorf("WithPrefix(%q) has %d runs, %v; want %d", prefix, len(got), err, want)
		}
	}
}

// TestLookupsUseAnIndex keeps an operator's question from reading a journal of a million runs.
func TestLookupsUseAnIndex(t *testing.T) {
	j := open4test(t, state(t))
	for query, args := range map[string][]any{
		named: {"a", []byte("a"), "", ""}, withPrefix: {"ab", "ab", 2},
	} {
		rows, err := j.read.Query("EXPLAIN QUERY PLAN "+query, args...)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			must(t, rows.Scan(&id, &parent, &unused, &detail))
			if strings.HasPrefix(detail, "SCAN") && detail != "SCAN boxes" && !strings.Contains(detail, "COVERING INDEX") {
				t.Errorf("%s: %s", query, detail)
			}
		}
		must(t, rows.Err())
	}
}
