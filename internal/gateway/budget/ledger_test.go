package budget

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// spenderEnv makes the test binary another process that spends out of the ledger of this directory until it is killed.
const spenderEnv = "TORNO_TEST_SPENDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(spenderEnv); dir != "" {
		spend(dir)
	}
	os.Exit(m.Run())
}

func spend(dir string) {
	l, err := Open(dir, time.Now)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		if _, err := l.Reserve(context.Background(), []Claim{{Scope: Scope{Run, "r"}}}, Amount{Requests: 1}, false); err != nil {
			os.Exit(1)
		}
		fmt.Println("left")
	}
}

func ledger(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func reserve(t *testing.T, l *Ledger, bound Amount, claims ...Claim) *Reservation {
	t.Helper()
	r, err := l.Reserve(t.Context(), claims, bound, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var oneRequest = Amount{Requests: 1}

func run(limits Limits) Claim { return Claim{Scope{Run, "r"}, limits} }

// TestABudgetEnds: what is settled takes the place of what was reserved, and the next process knows it.
func TestABudgetEnds(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir)
	claim := run(Limits{OutputTokens: new(int64(100))})
	r := reserve(t, l, Amount{OutputTokens: 60, Requests: 1}, claim)
	if err := r.Settle(Amount{OutputTokens: 50, Requests: 1}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = ledger(t, dir)
	if u := l.Use(claim.Scope); u.Spent != (Amount{OutputTokens: 50, Requests: 1}) || u.Parallel != 0 {
		t.Errorf("the next process knows %+v", u)
	}
	_, err := l.Reserve(t.Context(), []Claim{claim}, Amount{OutputTokens: 51, Requests: 1}, false)
	spent, ok := errors.AsType[*Spent](err)
	if !ok || *spent != (Spent{Scope: claim.Scope, What: OutputTokens, Limit: 100, Used: 50, Bound: 51}) {
		t.Errorf("51 more tokens of 100: %v", err)
	}
}

// TestNothingIsTakenWhereOneScopeRefuses: all claims or none.
func TestNothingIsTakenWhereOneScopeRefuses(t *testing.T) {
	l := ledger(t, t.TempDir())
	full := Claim{Scope{Tree, "t"}, Limits{Requests: new(int64(0))}}
	if _, err := l.Reserve(t.Context(), []Claim{run(Limits{}), full}, oneRequest, true); err == nil {
		t.Fatal("a limit of 0 allows a request")
	}
	if u := l.Use(Scope{Run, "r"}); u != (Use{}) {
		t.Errorf("the scope that allowed it has %+v", u)
	}
}

// TestAKilledProcess: a real one, at a moment of the kernel's choice. What it said had left is counted.
func TestAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	said := 0
	for range 3 {
		process := exec.Command("/proc/self/exe")
		process.Env = []string{spenderEnv + "=" + dir}
		output, err := process.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(output)
		for range 200 {
			lines.Scan()
			if lines.Text() != "left" {
				t.Fatalf("the process says %q", lines.Text())
			}
			said++
		}
		if _, err := Open(dir, time.Now); !isHeld(err, process.Process.Pid) {
			t.Errorf("a second ledger of the directory: %v", err)
		}
		process.Process.Kill()
		for lines.Scan() {
			said++
		}
		process.Wait()
	}
	l := ledger(t, dir)
	if u := l.Use(Scope{Run, "r"}); u.Spent.Requests < int64(said) || u.Spent.Requests > int64(said)+3 {
		t.Errorf("%d requests left, and at most 3 more; the ledger knows %d", said, u.Spent.Requests)
	}
}

func isHeld(err error, pid int) bool {
	held, ok := errors.AsType[*HeldError](err)
	return ok && held.Holder == fmt.Sprintf("process %d", pid)
}

func TestTwoLedgersOfOneDirectory(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir)
	if _, err := Open(dir, time.Now); !isHeld(err, os.Getpid()) {
		t.Errorf("the second: %v", err)
	}
	reserve(t, l, oneRequest, run(Limits{}))
	l.Close()
	if u := ledger(t, dir).Use(Scope{Run, "r"}); u.Spent != oneRequest {
		t.Errorf("after the first: %+v", u)
	}
}

func TestAClosedLedger(t *testing.T) {
	l := ledger(t, t.TempDir())
	claim := run(Limits{Parallel: new(int64(1))})
	r := reserve(t, l, oneRequest, claim)
	waits := make(chan error)
	go func() {
		_, err := l.Reserve(context.Background(), []Claim{claim}, oneRequest, false)
		waits <- err
	}()
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, errClosed) {
		t.Errorf("a request that waited: %v", err)
	}
	_, err := l.Forget(claim.Scope)
	for _, err := range []error{err, r.Settle(oneRequest)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("behind the end: %v", err)
		}
	}
}

// TestRequestsWaitForThoseUnderWay: they are refused only where they would not fit although all others were free.
func TestRequestsWaitForThoseUnderWay(t *testing.T) {
	for name, claim := range map[string]Claim{
		"tokens":   run(Limits{OutputTokens: new(int64(100))}),
		"parallel": run(Limits{Parallel: new(int64(1))}),
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			l := ledger(t, dir)
			bound := Amount{OutputTokens: 60, Requests: 1}
			first := reserve(t, l, bound, claim)
			second := make(chan error)
			go func() {
				_, err := l.Reserve(t.Context(), []Claim{claim}, bound, false)
				second <- err
			}()
			synctest.Wait()
			select {
			case err := <-second:
				t.Fatalf("%s: the second does not wait: %v", name, err)
			default:
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := l.Reserve(ctx, []Claim{claim}, bound, false)
			if _, ok := errors.AsType[*Spent](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: the third, when its time is over: %v", name, err)
			}
			if err := first.Settle(Amount{OutputTokens: 40, Requests: 1}); err != nil {
				t.Fatal(err)
			}
			if err := <-second; err != nil {
				t.Errorf("%s: the second, when the first has ended: %v", name, err)
			}
		})
	}
}

// TestParallelRequests: at no moment is more reserved than there is, and in the end not one token is lost.
func TestParallelRequests(t *testing.T) {
	l := ledger(t, t.TempDir())
	claim := run(Limits{OutputTokens: new(int64(2000)), Parallel: new(int64(7))})
	day := Claim{Scope{OutboxDay, "o"}, Limits{}}
	var all sync.WaitGroup
	var mu sync.Mutex
	underWay, most, refused := 0, 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		underWay += n
		most = max(most, underWay)
	}
	for range 20 {
		all.Go(func() {
			for range 25 {
				r, err := l.Reserve(t.Context(), []Claim{claim, day}, Amount{OutputTokens: 10, Requests: 1}, false)
				if _, ok := errors.AsType[*Spent](err); ok {
					mu.Lock()
					refused++
					mu.Unlock()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				count(1)
				if u := l.Use(claim.Scope); u.Spent.OutputTokens+u.Open.OutputTokens > 2000 || u.Parallel > 7 {
					t.Errorf("at one moment: %+v", u)
				}
				count(-1)
				if err := r.Settle(Amount{OutputTokens: 5, Requests: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := Amount{OutputTokens: 5 * int64(500-refused), Requests: int64(500 - refused)}
	if most > 7 || refused == 0 || want.OutputTokens < 1990 {
		t.Errorf("at most %d at a time; %d were refused and %+v was spent", most, refused, want)
	}
	for _, scope := range []Scope{claim.Scope, day.Scope} {
		if u := l.Use(scope); u != (Use{Spent: want}) {
			t.Errorf("%s in the end: %+v, want %+v", scope, u, want)
		}
	}
}

func TestBadReservations(t *testing.T) {
	l := ledger(t, t.TempDir())
	for name, c := range map[string]struct {
		claims []Claim
		bound  Amount
	}{
		"no scope":        {nil, oneRequest},
		"a negative one":  {[]Claim{run(Limits{})}, Amount{OutputTokens: -1}},
		"a scope twice":   {[]Claim{run(Limits{}), run(Limits{})}, oneRequest},
		"no id":           {[]Claim{{Scope: Scope{Run, ""}}}, oneRequest},
		"a long id":       {[]Claim{{Scope: Scope{Run, strings.Repeat("x", maxName+1)}}}, oneRequest},
		"an id in Latin1": {[]Claim{{Scope: Scope{Run, "\xe9"}}}, oneRequest},
	} {
		if r, err := l.Reserve(t.Context(), c.claims, c.bound, false); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := reserve(t, l, Amount{OutputTokens: 7, Requests: 1}, run(Limits{}))
	if err := r.Settle(Amount{OutputTokens: -7}); !errors.Is(err, errNegative) {
		t.Errorf("a negative cost: %v", err)
	}
	if u := l.Use(Scope{Run, "r"}); u.Spent.OutputTokens != 7 {
		t.Errorf("behind a negative cost: %+v", u)
	}
}

// TestSumsDoNotOverflow: not in a scope, and not when one of two reservations ends that together are more than there is.
func TestSumsDoNotOverflow(t *testing.T) {
	l := ledger(t, t.TempDir())
	claim := run(Limits{})
	most := Amount{InputTokens: math.MaxInt64, Requests: 1, Money: math.MaxInt64}
	first, second := reserve(t, l, most, claim), reserve(t, l, most, claim)
	if err := first.Cancel(); err != nil {
		t.Fatal(err)
	}
	if u := l.Use(claim.Scope); u.Open != most {
		t.Errorf("one of two is open: %+v", u)
	}
	if err := errors.Join(second.SettleUnknown(), reserve(t, l, most, claim).Settle(most)); err != nil {
		t.Fatal(err)
	}
	if u := l.Use(claim.Scope); u.Spent.InputTokens != math.MaxInt64 || u.Spent.Money != math.MaxInt64 {
		t.Errorf("both were spent: %+v", u)
	}
	limited := run(Limits{InputTokens: new(int64(math.MaxInt64 - 1))})
	if _, err := l.Reserve(t.Context(), []Claim{limited}, Amount{InputTokens: 1}, false); err == nil {
		t.Error("more than everything was spent, and one more is allowed")
	}
}

// TestARequestBelongsToTheDayOnWhichItLeft, also when it ends on another one, and the ledger was written anew between.
func TestARequestBelongsToTheDayOnWhichItLeft(t *testing.T) {
	clock := int64(100 * daySeconds)
	l, err := open(setting{disk: newTape(), boot: "1", now: func() time.Time { return time.Unix(clock, 0) }, least: 1})
	if err != nil {
		t.Fatal(err)
	}
	claim := Claim{Scope: Scope{OutboxDay, "o"}}
	r := reserve(t, l, oneRequest, claim)
	clock += daySeconds
	if u := l.Use(claim.Scope); u != (Use{}) {
		t.Errorf("the next day begins with %+v", u)
	}
	l.allowed = 1
	reserve(t, l, oneRequest, claim).Settle(oneRequest)
	if err := r.Settle(oneRequest); err != nil {
		t.Fatal(err)
	}
	if u := l.Use(claim.Scope); u.Spent.Requests != 1 {
		t.Errorf("the next day has %+v", u)
	}
}

func TestForget(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir)
	r := reserve(t, l, oneRequest, run(Limits{}), Claim{Scope: Scope{OutboxDay, "o"}})
	if _, err := l.Forget(Scope{Run, "r"}); err == nil {
		t.Error("a scope with an open reservation is forgotten")
	}
	r.Settle(oneRequest)
	if got := scopes(l); len(got) != 1 || got[0] != (Scope{Run, "r"}) {
		t.Errorf("the scopes are %v", got)
	}
	if spent, err := l.Forget(Scope{Run, "r"}); err != nil || spent != oneRequest {
		t.Errorf("it had spent %+v, %v", spent, err)
	}
	l.Close()
	if l = ledger(t, dir); len(scopes(l)) != 0 {
		t.Errorf("the next process knows %v", scopes(l))
	}
}

// TestTheFileStaysSmall: it is written anew although a scope lives on.
func TestTheFileStaysSmall(t *testing.T) {
	dir := t.TempDir()
	l := ledger(t, dir)
	l.least, l.allowed = 20_000, 20_000
	for range 600 {
		if err := reserve(t, l, oneRequest, run(Limits{})).Settle(oneRequest); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, ledgerName))
	if err != nil || info.Size() > 22_000 || l.Trouble() != nil {
		t.Errorf("the ledger is of %v (%v), trouble %v", info.Size(), err, l.Trouble())
	}
	if u := l.Use(Scope{Run, "r"}); u.Spent.Requests != 600 {
		t.Errorf("it knows %+v", u)
	}
}

// scopes are the scopes that the ledger knows, without those of days.
func scopes(l *Ledger) (all []Scope) {
	for k := range l.book.accounts {
		if k.Kind != OutboxDay {
			all = append(all, k.Scope)
		}
	}
	return all
}
