package budget

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestAShareIsKeptForTheLast: not all of a limit, and only for a last request.
func TestAShareIsKeptForTheLast(t *testing.T) {
	for _, c := range []struct {
		limit   int64
		percent int
		want    int64
	}{
		{100, 0, 0},
		{100, 10, 10},
		{105, 10, 11},
		{100, 100, 99},
		{100, 300, 99},
		{100, -5, 0},
		{1, 50, 0},
		{2, 1, 1},
		{0, 50, 0},
		{math.MaxInt64, 10, 922337203685477581},
		{math.MaxInt64, 100, math.MaxInt64 - 1},
	} {
		l := Limits{KeepForLast: c.percent}
		if got := l.kept(c.limit); got != c.want {
			t.Errorf("%d%% of %d: %d, want %d", c.percent, c.limit, got, c.want)
		}
	}
	l := ledger(t, t.TempDir())
	claims := []Claim{run(Limits{OutputTokens: new(int64(100)), KeepForLast: 20})}
	bound := Amount{OutputTokens: 81}
	_, err := l.Reserve(t.Context(), claims, bound, false)
	if spent, ok := errors.AsType[*Spent](err); !ok || spent.Kept != 20 {
		t.Errorf("81 of 80: %v", err)
	}
	if _, err := l.Reserve(t.Context(), claims, bound, true); err != nil {
		t.Errorf("81 of 100 for the last: %v", err)
	}
}

// TestNoneAndNoLimit: 0 allows nothing that costs something, and what is absent everything.
func TestNoneAndNoLimit(t *testing.T) {
	most := Amount{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, Requests: math.MaxInt64, Money: math.MaxInt64}
	for name, c := range map[string]struct {
		limits Limits
		bound  Amount
		what   What
		fits   bool
	}{
		"none at all":           {Limits{}, most, 0, true},
		"no input":              {Limits{InputTokens: new(int64)}, Amount{InputTokens: 1}, InputTokens, false},
		"no output":             {Limits{OutputTokens: new(int64)}, Amount{OutputTokens: 1}, OutputTokens, false},
		"no requests":           {Limits{Requests: new(int64)}, Amount{Requests: 1}, Requests, false},
		"no money":              {Limits{Money: new(Money)}, Amount{Money: 1}, Spending, false},
		"no money, a free one":  {Limits{Money: new(Money)}, Amount{Requests: 1}, 0, true},
		"nothing parallel":      {Limits{Parallel: new(int64)}, Amount{}, Parallel, false},
		"a negative limit":      {Limits{Requests: new(int64(-1))}, Amount{Requests: 1}, Requests, false},
		"money without a price": {Limits{Money: new(100 * Unit)}, Amount{Requests: 1, Unpriced: true}, Spending, false},
		"no limit of money":     {Limits{Requests: new(int64(1))}, Amount{Requests: 1, Unpriced: true}, 0, true},
	} {
		_, err := ledger(t, t.TempDir()).Reserve(t.Context(), []Claim{run(c.limits)}, c.bound, false)
		if spent, ok := errors.AsType[*Spent](err); ok == c.fits || ok && spent.What != c.what || err != nil && !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatARefusalSays(t *testing.T) {
	scope := Scope{OutboxDay, "/srv/outbox"}
	for want, s := range map[string]*Spent{
		"the budget of outbox /srv/outbox today is spent: 1.25 of 2 in money are used, and this request may need 0.9; 0.2 are kept for the final answer": {
			Scope: scope, What: Spending, Limit: int64(2 * Unit), Used: 1_250_000_000, Bound: 900_000_000, Kept: 200_000_000,
		},
		"the budget of run r allows 3 parallel requests": {Scope: Scope{Run, "r"}, What: Parallel, Limit: 3},
		"no price is known":           {Scope: scope, What: Spending, Unpriced: true},
		"countless of 5 input tokens": {Scope: scope, Used: math.MaxInt64, Limit: 5},
	} {
		if !strings.Contains(s.Error(), want) {
			t.Errorf("%q, want %q", s.Error(), want)
		}
	}
}

func TestMoney(t *testing.T) {
	for text, want := range map[string]Money{
		"0": 0, "12": 12 * Unit, "0.25": Unit / 4, "0.000000001": 1, "007.10": 7*Unit + Unit/10, "9223372036.854775807": math.MaxInt64,
	} {
		got, err := ParseMoney(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if again, err := ParseMoney(got.String()); err != nil || again != got {
			t.Errorf("%s is shown as %s and read again as %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1e3", "0x1", "1,5", " 1", "1_0", "0.0000000001", "9223372036.854775808", "99999999999999999999", "NaN", "1.5.5", "٣",
	} {
		if got, err := ParseMoney(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	for raw, want := range map[string]Money{`"0.5"`: Unit / 2, `0.5`: Unit / 2, `0.1`: Unit / 10, `3`: 3 * Unit} {
		var got Money
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v", raw, got, err)
		}
	}
}
