package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

func requests(runs []Run) []string {
	names := []string{}
	for _, r := range runs {
		names = append(names, r.Outbox+"/"+r.Request.String())
	}
	return names
}

func TestByFileKnowsTheVeryFile(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	got, found, err := j.ByFile(ctx, "main", r.FileName, r.Stamp)
	if err != nil || !found || got.Key != r.Key {
		t.Fatalf("ByFile = %+v, %v, %v", got, found, err)
	}
	other := r.Stamp
	other.Dev, other.Mode, other.Links = 77, 0o444, 9 // a device's number changes with a reboot
	if _, found, err := j.ByFile(ctx, "main", r.FileName, other); err != nil || !found {
		t.Errorf("another device: found %v, %v", found, err)
	}
	for what, change := range map[string]func(outbox, name *string, s *delegation.Stamp){
		"outbox": func(o, _ *string, _ *delegation.Stamp) { *o = "other" },
		"name":   func(_, n *string, _ *delegation.Stamp) { *n = "request_A.json" },
		"ino":    func(_, _ *string, s *delegation.Stamp) { s.Ino++ },
		"size":   func(_, _ *string, s *delegation.Stamp) { s.Size++ },
		"mtime":  func(_, _ *string, s *delegation.Stamp) { s.ModTime = s.ModTime.Add(1) },
		"ctime":  func(_, _ *string, s *delegation.Stamp) { s.ChangeTime = s.ChangeTime.Add(1) },
	} {
		outbox, name, stamp := "main", r.FileName, r.Stamp
		change(&outbox, &name, &stamp)
		if _, found, err := j.ByFile(ctx, outbox, name, stamp); err != nil || found {
			t.Errorf("another %s: found %v, %v", what, found, err)
		}
	}
}

func TestLatestIsTheNewestOfTheSubagent(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, r := range []Run{
		queued(t, "main", "a", "r1"), queued(t, "main", "a", "r2"), queued(t, "main", "b", "r3"), queued(t, "other", "a", "r4"),
	} {
		begin(t, j, r)
	}
	r := queued(t, "main", "a", "unused")
	if got, found, err := j.Latest(ctx, "main", r.Subagent); err != nil || !found || got.Request.String() != "r2" {
		t.Errorf("Latest = %s, %v, %v; want r2", got.Request, found, err)
	}
	none := queued(t, "main", "c", "unused")
	if _, found, err := j.Latest(ctx, "main", none.Subagent); err != nil || found {
		t.Errorf("Latest of a subagent without runs: %v, %v", found, err)
	}
}

func TestUnfinishedIsWhatIsNotEndedOrNotAnswered(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, s := range allStates {
		r := begin(t, j, queued(t, "main", "a", string(s)))
		bring(t, j, r.Key, s)
	}
	done := begin(t, j, queued(t, "main", "a", "answered"))
	bring(t, j, done.Key, delegation.StateEnded)
	if err := j.NoteAnswered(ctx, done.Key); err != nil {
		t.Fatal(err)
	}
	want := []string{"main/queued", "main/starting", "main/running", "main/waiting", "main/ended"}
	for after := int64(0); len(want) > 0; {
		page := want[:min(2, len(want))]
		got, err := j.Unfinished(ctx, after, 2)
		if err != nil || !slices.Equal(requests(got), page) {
			t.Fatalf("Unfinished = %v, %v; want %v", requests(got), err, page)
		}
		want, after = want[len(page):], got[len(got)-1].Seq
	}
}

func TestListIsNewestFirstInPages(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for i := range 6 {
		outbox := []string{"x", "y"}[i%2]
		r := begin(t, j, queued(t, outbox, "a", fmt.Sprint(i)))
		if i < 3 {
			bring(t, j, r.Key, delegation.StateEnded)
		}
	}
	for what, c := range map[string]struct {
		q    Query
		want string
	}{
		"all":              {Query{}, "y/5 x/4 y/3 x/2 y/1 x/0"},
		"limited":          {Query{Limit: 2}, "y/5 x/4"},
		"of an outbox":     {Query{Outbox: "x"}, "x/4 x/2 x/0"},
		"active":           {Query{ActiveOnly: true}, "y/5 x/4 y/3"},
		"active of one":    {Query{ActiveOnly: true, Outbox: "y"}, "y/5 y/3"},
		"the next page":    {Query{Before: 3, Limit: 2}, "y/1 x/0"},
		"active and older": {Query{ActiveOnly: true, Before: 5}, "y/3"},
		"an outbox, older": {Query{Outbox: "x", Before: 5, Limit: 1}, "x/2"},
		"another outbox":   {Query{Outbox: "z"}, ""},
	} {
		got, err := j.List(ctx, c.q)
		if err != nil || strings.Join(requests(got), " ") != c.want {
			t.Errorf("%s: %v, %v; want %s", what, requests(got), err, c.want)
		}
	}
}

func TestGetOfAnUnknownKey(t *testing.T) {
	j := open4test(t, state(t))
	if _, err := j.Get(context.Background(), "none"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Get = %v, want ErrUnknown", err)
	}
}

// Every query finds its rows through an index: none of them grows with what was answered long ago.
func TestQueriesUseTheirIndex(t *testing.T) {
	j := open4test(t, state(t))
	for query, want := range map[string]string{
		getRun:       "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		byFile:       "USING INDEX runs_by_file (outbox=? AND file_name=? AND ino=? AND mtime=? AND ctime=? AND size=?)",
		latest:       "USING INDEX runs_by_subagent (outbox=? AND subagent=?)",
		unfinished:   "USING INDEX runs_unanswered",
		listAll:      "USING INTEGER PRIMARY KEY (rowid<?)",
		listOf:       "USING INDEX runs_by_outbox (outbox=? AND rowid<?)",
		listActive:   "USING INDEX runs_unanswered (seq<?)",
		listActiveOf: "USING INDEX runs_unanswered (seq<?)",
		moveRun:      "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		bind:         "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		release:      "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		listOver:     "USING INDEX runs_over (outbox=? AND over_at>? AND over_at<?)",
		beyondCount:  "USING COVERING INDEX runs_over (outbox=?)",
		oldestShare:  "USING COVERING INDEX runs_over (outbox=?)",
		oldestKeys:   "USING COVERING INDEX forgotten_by_age (outbox=? AND asked<?)",
		dropKeys:     "USING COVERING INDEX forgotten_by_age (outbox=? AND asked<?)",
		beyondKeys:   "USING COVERING INDEX forgotten_by_age (outbox=?)",
		deleteRun:    "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		keepKey:      "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		setAnswered:  "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		setUsage:     "USING INDEX sqlite_autoindex_runs_1 (key=?)",
		noteSite:     "USING INDEX sqlite_autoindex_runs_1 (key=?)",
	} {
		if plan := planOf(t, j, query); !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the plan of\n%s\nis %q, want %q", query, plan, want)
		}
	}
}

func planOf(t *testing.T, j *Journal, query string) string {
	t.Helper()
	rows, err := j.write.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}

// multiply copies the only row until there are n, which are all ended and answered.
func multiply(t testing.TB, j *Journal, n int) {
	t.Helper()
	all := strings.Replace(columns, "key, ", "", 1)
	_, err := j.write.Exec(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO runs (key, `+all+`) SELECT printf('%032x', i), `+all+` FROM n, runs WHERE seq = 1`, n)
	if err != nil {
		t.Fatal(err)
	}
}

// best is the shortest of several tries: what the work costs, not what the machine was busy with.
func best(t *testing.T, j *Journal, q Query) time.Duration {
	t.Helper()
	shortest := time.Hour
	for range 5 {
		start := time.Now()
		if runs, err := j.List(context.Background(), q); err != nil || len(runs) != q.Limit {
			t.Fatalf("List = %d runs, %v", len(runs), err)
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}

func TestListDoesNotGrowWithTheHistory(t *testing.T) {
	few, many := 1_000, 20_000
	if testing.Short() {
		many = 10_000
	}
	journals := map[int]*Journal{}
	for _, n := range []int{few, many} {
		journals[n] = open4test(t, state(t))
		begin(t, journals[n], full(t))
		multiply(t, journals[n], n)
	}
	const rounds = 20 // load adds to a time, so the quietest round counts
	times := map[int]time.Duration{}
	for range rounds {
		for n, j := range journals {
			times[n] = max(best(t, j, Query{Limit: 100}), best(t, j, Query{Limit: 100, Outbox: "main"}))
		}
		t.Logf("the newest 100 of %d took %v, of %d %v", few, times[few], many, times[many])
		if times[many] <= 100*time.Millisecond || times[many] <= 5*times[few] {
			return
		}
	}
	t.Errorf("the newest 100 of %d runs took %v, of %d only %v", many, times[many], few, times[few])
}
