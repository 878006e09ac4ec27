package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// noon is when these runs are asked for and end, minute by minute.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// over is an answered run that ended so many minutes after noon.
func over(t testing.TB, j *Journal, outbox string, minute int) Run {
	t.Helper()
	r := queued(t, outbox, "a", fmt.Sprint("r", minute))
	at := noon.Add(time.Duration(minute) * time.Minute)
	r.State, r.Reason, r.Answered = delegation.StateEnded, delegation.ReasonRefused, true
	r.Created, r.Ended = at, at
	r.Stamp = delegation.Stamp{Ino: uint64(minute), ModTime: at.Add(-time.Second), ChangeTime: at}
	r.StdoutTail = strings.Repeat("x", 2000)
	j.GoBy(func() time.Time { return at })
	return begin(t, j, r)
}

// prune forgets what is over the bounds, as if all requests were gone, and returns how many rows that were.
func prune(t testing.TB, j *Journal, outbox string, r Retention, now time.Time) (n int) {
	t.Helper()
	ctx := context.Background()
	since, err := j.OverSince(ctx, outbox, r, now)
	must(t, err)
	for last := (Over{}); ; {
		rows, err := j.ListOver(ctx, outbox, since, last, 3)
		must(t, err)
		if len(rows) == 0 {
			return n
		}
		must(t, j.Forget(ctx, rows))
		n, last = n+len(rows), rows[len(rows)-1]
	}
}

func TestWhatIsOver(t *testing.T) {
	now := noon.Add(20 * time.Minute)
	for name, c := range map[string]struct {
		bounds Retention
		want   int
	}{
		"nothing is bounded": {Retention{}, 0},
		"age":                {Retention{Age: 15 * time.Minute}, 5},
		"count":              {Retention{Runs: 4}, 6},
		"the tighter one":    {Retention{Age: 15 * time.Minute, Runs: 8}, 5},
		"count of few":       {Retention{Runs: 10}, 0},
		"size":               {Retention{Size: 1}, 1},
		"size that is kept":  {Retention{Size: 1 << 30}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := open4test(t, state(t))
			for i := range 10 {
				over(t, j, "main", i)
				over(t, j, "other", i)
			}
			begin(t, j, queued(t, "main", "a", "waits"))
			if n := prune(t, j, "main", c.bounds, now); n != c.want {
				t.Errorf("%d rows were pruned, want %d", n, c.want)
			}
			left, err := j.List(context.Background(), Query{Outbox: "main"})
			if err != nil || len(left) != 11-c.want {
				t.Errorf("%d rows are left, %v", len(left), err)
			}
			if others, err := j.List(context.Background(), Query{Outbox: "other"}); err != nil || len(others) != 10 {
				t.Errorf("%d rows of another outbox are left, %v", len(others), err)
			}
		})
	}
}

// TestAForgottenKeyDoesNotBegin is I10 without the row: by its key as long as that is remembered, and afterwards by the
// time of the request. The last two lines are the oracle: without either, the run would begin again.
func TestAForgottenKeyDoesNotBegin(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	old := over(t, j, "main", 0)
	if n := prune(t, j, "main", Retention{Age: time.Minute}, noon.Add(time.Hour)); n != 1 {
		t.Fatalf("%d rows were pruned", n)
	}
	again := old
	again.Stamp.Ino, again.Stamp.ChangeTime = 99, noon.Add(2*time.Hour) // as a copy that kept its time has it
	wantForgotten(t, j, again)
	rewritten := again
	rewritten.Stamp.ModTime = noon.Add(2 * time.Hour)
	wantForgotten(t, j, rewritten)

	dropped, err := j.DropKeys(ctx, "main", noon.Add(time.Hour), 10)
	if err != nil || !dropped {
		t.Fatalf("no key was dropped, %v", err)
	}
	wantForgotten(t, j, again)
	if newer := over(t, j, "main", 61); newer.Key == "" {
		t.Error("a newer request does not begin")
	}
	over(t, j, "other", 0) // another parent's horizon is its own
	begin(t, j, rewritten)
}

func wantForgotten(t *testing.T, j *Journal, r Run) {
	t.Helper()
	if existing, err := j.Begin(context.Background(), r); !errors.Is(err, ErrForgotten) || existing != nil {
		t.Errorf("Begin = %v, %v, want ErrForgotten", existing, err)
	}
}

// TestAClockThatWasAheadForgetsNoKey prunes and drops a year ahead; the clock is put right and an old request comes back.
func TestAClockThatWasAheadForgetsNoKey(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	old := over(t, j, "main", 0)
	ahead := noon.AddDate(1, 0, 0)
	prune(t, j, "main", Retention{Age: time.Hour}, ahead)
	since, err := j.KeysSince(ctx, "main", Retention{MaxRequestAge: 7 * 24 * time.Hour}, ahead)
	must(t, err)
	if dropped, err := j.DropKeys(ctx, "main", since, 10); err != nil || !dropped {
		t.Fatalf("the key is still there, %v", err)
	}
	old.Stamp.Ino = 99
	wantForgotten(t, j, old)
	over(t, j, "main", 1) // and what is newer begins, today
}

// TestARequestFromTheFutureIsRememberedAsOfToday: no client can have a key kept for ever.
func TestARequestFromTheFutureIsRememberedAsOfToday(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := queued(t, "main", "a", "r1")
	r.State, r.Reason, r.Answered, r.Created, r.Ended = delegation.StateEnded, delegation.ReasonRefused, true, noon, noon
	r.Stamp.ModTime = noon.AddDate(100, 0, 0)
	j.GoBy(func() time.Time { return noon })
	begin(t, j, r)
	prune(t, j, "main", Retention{Age: time.Minute}, noon.Add(time.Hour))
	if dropped, err := j.DropKeys(ctx, "main", noon.Add(MaxSkew), 10); err != nil || dropped {
		t.Errorf("a key was dropped too early: %v, %v", dropped, err)
	}
	if dropped, err := j.DropKeys(ctx, "main", noon.Add(MaxSkew+1), 10); err != nil || !dropped {
		t.Errorf("a key was not dropped: %v, %v", dropped, err)
	}
}

func TestJunkIsForgottenWithoutATrace(t *testing.T) {
	j := open4test(t, state(t))
	junk := Run{
		Outbox: "main", FileName: "request_.json", Stamp: stampOf(3), State: delegation.StateEnded,
		Reason: delegation.ReasonRefused, Created: noon, Ended: noon, Answered: true,
	}
	j.GoBy(func() time.Time { return noon })
	junk.Key = EntryKey(junk.Outbox, junk.FileName, junk.Stamp, junk.Content)
	begin(t, j, junk)
	prune(t, j, "main", Retention{Age: time.Minute}, noon.Add(time.Hour))
	if names, err := j.OutboxesWithKeys(context.Background()); err != nil || len(names) != 0 {
		t.Errorf("keys of %v, %v", names, err)
	}
	begin(t, j, junk)
}

func TestTooManyKeys(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for i := range 10 {
		over(t, j, "main", i)
	}
	prune(t, j, "main", Retention{Age: time.Second}, noon.Add(time.Hour))
	since, err := j.keysSince(ctx, "main", Retention{MaxRequestAge: 365 * 24 * time.Hour}, noon, 4)
	must(t, err)
	for dropped := true; dropped; {
		dropped, err = j.DropKeys(ctx, "main", since, 2)
		must(t, err)
	}
	var left int
	must(t, j.write.QueryRow(`SELECT count(*) FROM forgotten`).Scan(&left))
	if left != 4 {
		t.Errorf("%d keys are left, want 4", left)
	}
	for i := range 10 { // those whose keys are gone are held off by the horizon
		r := queued(t, "main", "a", fmt.Sprint("r", i))
		r.Stamp.ModTime = noon.Add(time.Duration(i)*time.Minute - time.Second)
		wantForgotten(t, j, r)
	}
}

// TestARowWithAnotherFileStays: its client wrote the request again between the look and the pruning.
func TestARowWithAnotherFileStays(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := over(t, j, "main", 0)
	rows, err := j.ListOver(ctx, "main", noon.Add(time.Hour), Over{}, 10)
	must(t, err)
	must(t, j.Refile(ctx, r.Key, delegation.Reading{Stamp: stampOf(5)}, true))
	must(t, j.Forget(ctx, rows))
	get(t, j, r.Key)
	wantExisting, err := j.Begin(ctx, r)
	if err != nil || wantExisting == nil {
		t.Errorf("Begin = %v, %v", wantExisting, err)
	}
}

func TestWhatIsNotSettledIsNeverOver(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	owed := queued(t, "main", "a", "owed")
	owed.State, owed.Reason, owed.Created, owed.Ended = delegation.StateEnded, delegation.ReasonRefused, noon, noon
	begin(t, j, owed)
	begin(t, j, queued(t, "main", "b", "waits"))
	rows, err := j.ListOver(ctx, "main", noon.AddDate(10, 0, 0), Over{}, 10)
	if err != nil || len(rows) != 0 {
		t.Errorf("%v, %v", rows, err)
	}
	must(t, j.Forget(ctx, []Over{{Key: owed.Key, Stamp: owed.Stamp}}))
	get(t, j, owed.Key)
}

// TestTheFileShrinks fills a journal, prunes nearly everything and looks at the file itself.
func TestTheFileShrinks(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	ctx := context.Background()
	path := state(t)
	j := open4test(t, path)
	over(t, j, "main", 0)
	multiply(t, j, 5_000)
	must(t, j.Close())
	full, err := os.Stat(path)
	must(t, err)

	j = open4test(t, path)
	prune(t, j, "main", Retention{Age: time.Minute}, noon.Add(time.Hour))
	for more := true; more; {
		more, err = j.Shrink(ctx)
		must(t, err)
	}
	size, err := j.Size(ctx)
	must(t, err)
	must(t, j.Close())
	small, err := os.Stat(path)
	must(t, err)
	if small.Size() > full.Size()/4 || size.Used+size.Free != small.Size() {
		t.Errorf("the file had %d bytes and has %d; the journal says %+v", full.Size(), small.Size(), size)
	}
}

// TestTheLargestOutboxIsPrunedFirst (X14): one parent's rows, which stay while its requests lie in its outbox, cost no other parent's.
func TestTheLargestOutboxIsPrunedFirst(t *testing.T) {
	j := open4test(t, state(t))
	for i := range 10 {
		over(t, j, "large", i)
	}
	for i := range 4 {
		over(t, j, "small", i)
	}
	now := noon.Add(20 * time.Minute)
	if n := prune(t, j, "small", Retention{Size: 1}, now); n != 0 {
		t.Errorf("%d rows of the outbox that has less than its share were pruned", n)
	}
	if n := prune(t, j, "large", Retention{Size: 1}, now); n == 0 {
		t.Error("nothing was pruned of the one that has more")
	}
}
