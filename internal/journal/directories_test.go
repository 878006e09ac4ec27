package journal

import (
	"slices"
	"testing"
	"time"

	"torno/internal/inode"
)

// volume and mountPoint are the two directories of an outbox whose disk is mounted too late at times.
var volume, mountPoint = inode.Directory{FileSystem: 1 << 63, Inode: 2, Birth: 3}, inode.Directory{FileSystem: 4, Inode: 5, Birth: 6}

// bound binds the only outbox to a directory, and returns those that it remembers.
func bound(t testing.TB, j *Journal, d inode.Directory) (earlier []inode.Directory) {
	t.Helper()
	must(t, j.KeepOutboxes(t.Context(), []Outbox{{ID: "main", Name: "main", Path: "/box", Directory: d}}))
	return remembered(t, j)
}

func remembered(t testing.TB, j *Journal) (earlier []inode.Directory) {
	t.Helper()
	all, err := j.EarlierDirectories(t.Context())
	must(t, err)
	for _, e := range all {
		earlier = append(earlier, e.Directory)
	}
	return earlier
}

// TestAnEarlierDirectoryIsRemembered, until the outbox has it again, or it is given up or forgotten.
func TestAnEarlierDirectoryIsRemembered(t *testing.T) {
	ctx := t.Context()
	path := state(t)
	j := open4test(t, path)
	bare := volume
	bare.Birth = 0 // as an older kernel sees it
	for i, step := range []struct {
		to   inode.Directory
		want []inode.Directory
	}{
		{volume, nil},
		{bare, nil},
		{volume, nil},
		{mountPoint, []inode.Directory{volume}},
		{volume, []inode.Directory{mountPoint}},
		{mountPoint, []inode.Directory{volume}},
	} {
		if earlier := bound(t, j, step.to); !slices.Equal(earlier, step.want) {
			t.Errorf("after step %d it remembers %v, want %v", i, earlier, step.want)
		}
	}
	must(t, j.Close())
	j = open4test(t, path)
	must(t, j.ForgetDirectories(ctx, time.Now().Add(-time.Minute)))
	if earlier := remembered(t, j); len(earlier) != 1 {
		t.Errorf("before its time it remembers %v", earlier)
	}
	must(t, j.ForgetDirectories(ctx, time.Now().Add(time.Minute)))
	if earlier := remembered(t, j); len(earlier) != 0 {
		t.Errorf("after its time it remembers %v", earlier)
	}
	bound(t, j, volume)
	must(t, j.AcceptOutbox(ctx, Outbox{ID: "main", Name: "main", Path: "/box", Directory: inode.Directory{FileSystem: 7, Inode: 8}}))
	if earlier := remembered(t, j); len(earlier) != 0 {
		t.Errorf("what was given up is remembered: %v", earlier)
	}
	for n := range uint64(2 * maxDirectories) {
		bound(t, j, inode.Directory{FileSystem: 9, Inode: n + 1})
	}
	if earlier := remembered(t, j); len(earlier) != maxDirectories {
		t.Errorf("it remembers %d directories", len(earlier))
	}
}

// TestWhatMayLieInAnEarlierDirectoryIsNotPruned: the watcher cannot look there. What began since, and what began before the directory was
// another outbox's, is.
func TestWhatMayLieInAnEarlierDirectoryIsNotPruned(t *testing.T) {
	ctx := t.Context()
	j := open4test(t, state(t))
	bound(t, j, volume)
	far, all := noon.Add(time.Hour), Retention{Age: time.Minute}
	for minute := range 4 {
		over(t, j, "main", minute)
		over(t, j, "other", minute)
	}
	bound(t, j, mountPoint)
	for minute := 4; minute < 10; minute++ {
		over(t, j, "main", minute)
	}
	if n := prune(t, j, "main", Retention{Size: 1}, far); n != 1 {
		t.Errorf("for the size %d runs are pruned, want one that began in the present directory", n)
	}
	if n := prune(t, j, "main", all, far); n != 5 {
		t.Errorf("%d runs are pruned, want the 5 that are left of the present directory", n)
	}
	if n := prune(t, j, "other", all, far); n != 4 {
		t.Errorf("%d runs of another outbox are pruned, want 4", n)
	}
	bound(t, j, volume)
	if n := prune(t, j, "main", Retention{Runs: 1}, far); n != 3 {
		t.Errorf("%d runs are pruned when the directory is back, want all but one", n)
	}
	bound(t, j, mountPoint)
	if n := prune(t, j, "main", all, far); n != 0 {
		t.Errorf("%d runs are pruned when it has gone again", n)
	}
	must(t, j.ForgetDirectories(ctx, time.Now().Add(time.Minute)))
	if n := prune(t, j, "main", all, far); n != 1 {
		t.Errorf("%d runs are pruned when it is forgotten, want the last", n)
	}
}

// TestAJournalOfBeforeIsUnseen until its outboxes were kept for the first time. A new one never is.
func TestAJournalOfBeforeIsUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		want bool
	}{"of before": {firstVersion(t), true}, "new": {state(t), false}} {
		j := open4test(t, c.path)
		for _, want := range []bool{c.want, false} {
			if is, err := j.Unseen(t.Context()); err != nil || is != want {
				t.Errorf("%s: %v, %v; want %v", name, is, err, want)
			}
			bound(t, j, volume)
		}
	}
}
