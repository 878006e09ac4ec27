package outbox

import (
	"fmt"
	"testing"
	"time"

	"torno/delegation"
	"torno/watcher/output"
)

// TestTheBoundOfLiveOutputOutlivesAWatcher: the runs that ended first lose theirs first, whichever watcher served them.
func TestTheBoundOfLiveOutputOutlivesAWatcher(t *testing.T) {
	removed := map[string]bool{}
	tr := &trails{remove: func(name string) { removed[name] = true }}
	began := time.Now()
	trailOf := func(n int) trail {
		id, err := delegation.ParseSubagentID(fmt.Sprint("s", n))
		if err != nil {
			t.Fatal(err)
		}
		request, err := delegation.ParseRequestID(fmt.Sprint("r", n))
		if err != nil {
			t.Fatal(err)
		}
		return trail{ID: id, request: request, first: 1, last: 2, ended: began.Add(time.Duration(n) * time.Second)}
	}
	for n := maxTrails; n < 2*maxTrails-1; n++ { // of this watcher
		tr.keep(trailOf(n))
	}
	for n := range 3 { // found, of earlier ones
		older := trailOf(n)
		older.last = 1
		tr.keep(older)
		older.first, older.last = 2, 2
		tr.keep(older)
	}
	if len(tr.ended) != maxTrails {
		t.Errorf("%d trails are known", len(tr.ended))
	}
	for n := range 2*maxTrails - 1 {
		old := trailOf(n)
		name := delegation.EventsName(old.ID, old.request, 1)
		if want := n < 2; removed[name] != want {
			t.Errorf("the live output of run %d is removed: %t", n, removed[name])
		}
	}
	big := trailOf(3 * maxTrails)
	big.first, big.last = 1<<29, 1<<29+2*output.MaxSegments
	tr.keep(big)
	newest := tr.ended[len(tr.ended)-1]
	if newest.last-newest.first != output.MaxSegments-1 {
		t.Errorf("a trail goes from %d to %d", newest.first, newest.last)
	}
	for n := range maxTrails {
		talked := trailOf(4*maxTrails + n)
		talked.last = output.MaxSegments
		tr.keep(talked)
	}
	if files := tr.files(); files > maxTrailedFiles || files < maxTrailedFiles-output.MaxSegments {
		t.Errorf("%d files of ended runs stay", files)
	}
	if name := delegation.EventsName(newest.ID, newest.request, newest.last); !removed[name] {
		t.Error("the runs that ended first have not lost theirs first")
	}
}
