package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestManyRunsLeaveNothing: when each of thousands is forgotten at its end, neither the ledger's file nor its memory grows. What the
// runs have spent counts on for all that they belonged to.
func TestManyRunsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir)
	l.least, l.allowed = 20_000, 20_000
	subagent, tree, day := Scope{Subagent, "o/s"}, Scope{Tree, "o"}, Scope{OutboxDay, "o"}
	const runs = 3000
	for i := range runs {
		one := Scope{Run, fmt.Sprint("o/", i)}
		claims := []Claim{{Scope: one}, {Scope: subagent}, {Scope: tree}, {Scope: day}}
		if err := reserve(t, l, oneRequest, claims...).Settle(oneRequest); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Forget(one); err != nil {
			t.Fatal(err)
		}
		if i == runs/2 {
			l.Close()
			l = ledger(t, dir)
			l.least, l.allowed = 20_000, 20_000
		}
	}
	if info, err := os.Stat(filepath.Join(dir, ledgerName)); err != nil || info.Size() > 25_000 || len(l.book.accounts) != 3 {
		t.Errorf("the ledger has %d bytes and %d accounts (%v)", info.Size(), len(l.book.accounts), err)
	}
	l.Close()
	l = ledger(t, dir)
	for _, scope := range []Scope{subagent, tree, day} {
		if u := l.Use(scope); u.Spent.Requests != runs {
			t.Errorf("%s: %+v", scope, u)
		}
	}
}

// TestOnlyWhatIsNamedIsForgotten, whatever the clock says, and by the next process too.
func TestOnlyWhatIsNamedIsForgotten(t *testing.T) {
	tape, clock := newTape(), int64(100*daySeconds)
	start := func() *Ledger {
		l, err := open(setting{disk: tape, boot: "1", now: func() time.Time { return time.Unix(clock, 0) }, least: 1})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := start()
	between, over, day := Scope{Run, "o/between-attempts"}, Scope{Run, "o/over"}, Scope{OutboxDay, "o"}
	for _, run := range []Scope{between, over} {
		reserve(t, l, oneRequest, Claim{Scope: run}, Claim{Scope: day}).Settle(oneRequest)
	}
	for _, jump := range []int64{0, 400, -400, -100_000} {
		clock += jump * daySeconds
		l.allowed = 1 // it is written anew
		if _, err := l.Forget(over); err != nil {
			t.Fatal(err)
		}
		tape = tape.afterKill()
		l = start()
		if u := l.Use(between); u.Spent != oneRequest {
			t.Errorf("after a jump of %d days a run that goes on has spent %+v", jump, u)
		}
		if got := l.Scopes(Run, "", 10); !slices.Equal(got, []string{between.ID}) {
			t.Errorf("after a jump of %d days there are %q", jump, got)
		}
		if _, err := l.Forget(Scope{Run, "o/never"}); err != nil {
			t.Error(err)
		}
	}
	clock = 100 * daySeconds
	if u := l.Use(day); u.Spent.Requests != 2 {
		t.Errorf("the day has %+v", u)
	}
}

// TestScopes: in their order, piece by piece.
func TestScopes(t *testing.T) {
	l := ledger(t, t.TempDir())
	for _, id := range []string{"c", "a", "b"} {
		reserve(t, l, oneRequest, Claim{Scope: Scope{Run, id}}, Claim{Scope: Scope{Tree, "x" + id}})
	}
	if got := l.Scopes(Run, "", 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := l.Scopes(Run, "b", 2); !slices.Equal(got, []string{"c"}) {
		t.Errorf("got %q", got)
	}
}
