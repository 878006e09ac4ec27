package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a ledger and the simplest reference for it: the list of all requests that left.
type world struct {
	t       *testing.T
	random  *rand.Rand
	tape    *tape
	boots   int
	clock   int64 // seconds
	day     int64 // the present one
	ledger  *Ledger
	past    []request // of processes before; each is settled
	now     []*request
	perhaps map[key]bool // forgotten, or not: the process died in it
	highest int64        // of an amount
}

// request is one that left, or may have left.
type request struct {
	of          []key
	bound       vector
	least, most vector // what the ledger may count for it
	reservation *Reservation
	ended       bool
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 7)), tape: newTape(), boots: 1, clock: 1_000_000_000, highest: 100}
	if seed%4 == 3 {
		w.highest = math.MaxInt64
	}
	return w
}

// start opens the ledger. It is false if the process died in it.
func (w *world) start() bool {
	now := func() time.Time { return time.Unix(w.clock, 0) }
	l, err := open(setting{disk: w.tape, dir: "dir", boot: fmt.Sprint(w.boots), now: now, least: 700})
	if w.tape.dead {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledger = l
	return true
}

// again kills the process, which did nothing just then, and begins another one. Steps go on.
func (w *world) again() bool {
	next := w.tape.afterKill()
	next.left = w.tape.left
	w.tape = next
	for _, r := range w.now {
		r.ended = true
	}
	return w.start()
}

// step does one thing. It is false when the process has died.
func (w *world) step() bool {
	switch w.random.IntN(12) {
	case 11:
		w.expect()
	case 10:
		w.forget()
	case 0:
		w.clock += w.random.Int64N(9*daySeconds) - 4*daySeconds // both ways
	case 1, 2, 3, 4:
		w.reserve()
	default:
		w.end()
	}
	return !w.tape.dead
}

// turnDay goes on to the day of the clock, as the ledger does when it is asked. It returns what to do when the process dies in that.
func (w *world) turnDay() (died func()) {
	day := w.clock / daySeconds
	var gone []key
	if day > w.day {
		gone = w.stale(day)
	}
	w.day = day
	past, now := slices.Clone(w.past), make([][]key, len(w.now))
	for i, r := range w.now {
		now[i] = r.of
	}
	for _, k := range gone {
		w.drop(k)
	}
	return func() {
		w.past = past
		for i, of := range now {
			w.now[i].of = of
		}
		for _, k := range gone {
			w.perhapsForgotten(k)
		}
	}
}

// stale are the days that are forgotten when another one begins: those behind it, and all before it but the last three.
func (w *world) stale(day int64) (gone []key) {
	var days []key
	note := func(r *request) {
		for _, k := range r.of {
			if k.Kind == OutboxDay && !slices.Contains(days, k) {
				days = append(days, k)
			}
		}
	}
	for i := range w.past {
		note(&w.past[i])
	}
	for _, r := range w.now {
		note(r)
	}
	slices.SortFunc(days, func(a, b key) int { return int(b.Day - a.Day) })
	before := 0
	for _, k := range days {
		if k.Day < day {
			before++
		}
		if (k.Day > day || before > 3) && w.open(k) == 0 {
			gone = append(gone, k)
		}
	}
	return gone
}

func (w *world) perhapsForgotten(k key) {
	if w.perhaps == nil {
		w.perhaps = map[key]bool{}
	}
	w.perhaps[k] = true
}

func (w *world) reserve() {
	scopes := []Scope{{Run, "r1"}, {Run, "r2"}, {Tree, "t"}, {OutboxDay, "/outbox"}}
	w.random.Shuffle(len(scopes), func(i, j int) { scopes[i], scopes[j] = scopes[j], scopes[i] })
	var claims []Claim
	r := &request{bound: w.amount()}
	died := w.turnDay()
	for _, s := range scopes[:1+w.random.IntN(3)] {
		claims = append(claims, Claim{s, w.limits()})
		k := key{Scope: s}
		if s.Kind == OutboxDay {
			k.Day = w.day
		}
		r.of = append(r.of, k)
	}
	last := w.random.IntN(3) == 0
	want := w.verdict(claims, r, last)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it does not wait
	reservation, err := w.ledger.Reserve(ctx, claims, r.bound.amount(), last)
	if w.tape.dead {
		died()
		r.most = r.bound // it may have been written
		w.now = append(w.now, r)
		return
	}
	_, refused := errors.AsType[*Spent](err)
	got := fits
	switch {
	case errors.Is(err, context.Canceled):
		got = waits
	case refused:
		got = exceeds
	case err != nil:
		w.t.Fatal(err)
	}
	if got != want {
		w.t.Fatalf("%+v with %+v (last %v): verdict %v (%v), want %v", claims, r.bound, last, got, err, want)
	}
	if got == fits {
		r.reservation, r.least, r.most = reservation, r.bound, r.bound
		w.now = append(w.now, r)
	}
}

func (w *world) amount() (v vector) {
	for i := range v {
		if w.random.IntN(3) > 0 {
			v[i] = w.random.Int64N(w.highest)
		}
	}
	return v
}

func (w *world) limits() (l Limits) {
	for _, at := range []**int64{&l.InputTokens, &l.OutputTokens, &l.Requests} {
		if w.random.IntN(3) == 0 {
			*at = new(w.random.Int64N(min(w.highest, math.MaxInt64/16) * 16))
		}
	}
	if w.random.IntN(3) == 0 {
		l.Money = new(Money(w.random.Int64N(1000)))
	}
	if w.random.IntN(2) == 0 {
		l.Parallel = new(w.random.Int64N(5))
	}
	l.KeepForLast = w.random.IntN(2) * w.random.IntN(120)
	return l
}

// verdict is what the reference says.
func (w *world) verdict(claims []Claim, r *request, last bool) verdict {
	worst := fits
	for i, c := range claims {
		settled, all := w.sums(r.of[i])
		limits := []*int64{c.Limits.InputTokens, c.Limits.OutputTokens, c.Limits.Requests, (*int64)(c.Limits.Money)}
		for what, limit := range limits {
			if limit == nil || r.bound[what] == 0 {
				continue
			}
			usable := big.NewInt(*limit)
			if !last {
				usable.Sub(usable, keptOf(*limit, c.Limits.KeepForLast))
			}
			bound := big.NewInt(r.bound[what])
			switch {
			case saturated(settled[what], bound) > usable.Int64():
				worst = exceeds
			case saturated(all[what], bound) > usable.Int64():
				worst = max(worst, waits)
			}
		}
		if p := c.Limits.Parallel; p != nil && *p == 0 {
			worst = exceeds
		} else if p != nil && w.parallel(r.of[i]) >= *p {
			worst = max(worst, waits)
		}
	}
	return worst
}

func keptOf(limit int64, percent int) *big.Int {
	kept := new(big.Int).Mul(big.NewInt(limit), big.NewInt(int64(min(percent, 100))))
	kept.Add(kept, big.NewInt(99)).Div(kept, big.NewInt(100))
	if most := big.NewInt(max(limit-1, 0)); kept.Cmp(most) > 0 {
		return most
	}
	return kept
}

func saturated(all ...*big.Int) int64 {
	total := new(big.Int)
	for _, n := range all {
		total.Add(total, n)
	}
	if !total.IsInt64() {
		return math.MaxInt64
	}
	return total.Int64()
}

// sums are what counts for a scope: what is settled, and that with what is open.
func (w *world) sums(k key) (settled, all [sums]*big.Int) {
	for i := range settled {
		settled[i], all[i] = new(big.Int), new(big.Int)
	}
	add := func(r *request) {
		for i := range settled {
			if r.countsFor(k) {
				all[i].Add(all[i], big.NewInt(r.most[i]))
			}
			if r.countsFor(k) && r.ended {
				settled[i].Add(settled[i], big.NewInt(r.most[i]))
			}
		}
	}
	for i := range w.past {
		add(&w.past[i])
	}
	for _, r := range w.now {
		add(r)
	}
	return settled, all
}

func (w *world) parallel(k key) (n int64) {
	for _, r := range w.now {
		if r.countsFor(k) && !r.ended {
			n++
		}
	}
	return n
}

// open is how many requests of exactly this key are under way.
func (w *world) open(k key) (n int64) {
	for _, r := range w.now {
		if r.is(k) && !r.ended {
			n++
		}
	}
	return n
}

func (r *request) is(k key) bool { return slices.Contains(r.of, k) }

// countsFor says whether a request counts for a scope. For a day those of later days do.
func (r *request) countsFor(k key) bool {
	return slices.ContainsFunc(r.of, func(own key) bool { return own.Scope == k.Scope && own.Day >= k.Day })
}

// end ends a request that is under way, if there is one.
func (w *world) end() {
	var open []*request
	for _, r := range w.now {
		if !r.ended {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return
	}
	r := open[w.random.IntN(len(open))]
	cost := r.bound
	var err error
	switch w.random.IntN(4) {
	case 0:
		err = r.reservation.SettleUnknown()
	case 1:
		cost = vector{}
		err = r.reservation.Cancel()
	default:
		cost = w.amount() // more than was reserved, too
		err = r.reservation.Settle(cost.amount())
	}
	if w.tape.dead { // it may have been written
		for i := range cost {
			r.least[i], r.most[i] = min(cost[i], r.bound[i]), max(cost[i], r.bound[i])
		}
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	r.least, r.most, r.ended = cost, cost, true
	if r.reservation.Cancel() == nil {
		w.t.Fatal("a reservation ended twice")
	}
}

// forget forgets a run. While a request of it is under way that is an error.
func (w *world) forget() {
	k := key{Scope: Scope{Run, fmt.Sprint("r", 1+w.random.IntN(2))}}
	_, err := w.ledger.Forget(k.Scope)
	switch {
	case w.parallel(k) > 0:
		if err == nil {
			w.t.Fatalf("%v is forgotten with requests under way", k)
		}
		return
	case w.tape.dead:
		w.perhapsForgotten(k)
		return
	case err != nil:
		w.t.Fatal(err)
	}
	w.drop(k)
}

// drop takes a scope out of all requests.
func (w *world) drop(k key) {
	for i := range w.past {
		w.past[i].drop(k)
	}
	for _, r := range w.now {
		r.drop(k)
	}
}

// expect costs nothing, whatever happens meanwhile.
func (w *world) expect() {
	died := w.turnDay()
	err := w.ledger.Expect(Scope{Run, fmt.Sprint("r", 1+w.random.IntN(2))}, w.amount().amount())
	switch {
	case w.tape.dead:
		died()
	case err != nil:
		w.t.Fatal(err)
	}
}

// drop takes a request out of the sum of a scope.
func (r *request) drop(k key) {
	r.of = slices.DeleteFunc(slices.Clone(r.of), func(own key) bool { return own == k })
}

// keys are the scopes of all requests, and those that the ledger knows.
func (w *world) keys() map[key]bool {
	all := map[key]bool{}
	note := func(r *request) {
		for _, k := range r.of {
			all[k] = true
		}
	}
	for i := range w.past {
		note(&w.past[i])
	}
	for _, r := range w.now {
		note(r)
	}
	for k := range w.ledger.book.accounts {
		all[k] = true
	}
	return all
}

// check holds the ledger against the reference. exact is false after a power cut: more may be counted then.
func (w *world) check(exact bool) {
	w.t.Helper()
	for k := range w.keys() {
		got := w.ledger.book.use(k)
		total := got.spent.plus(got.open)
		var least, most vector
		for i := range w.past {
			if r := &w.past[i]; r.is(k) {
				least, most = least.plus(r.least), most.plus(r.most)
			}
		}
		for _, r := range w.now {
			if r.is(k) {
				least, most = least.plus(r.least), most.plus(r.most)
			}
		}
		if w.perhaps[k] {
			least = vector{}
		}
		if !total.covers(least) || exact && !most.covers(total) {
			w.t.Fatalf("%v: the ledger counts %v; at least %v were spent, at most %v", k, total, least, most)
		}
	}
}

// next is the next process on what is left of the disk. What the ledger counts by now is the past.
func (w *world) next(tape *tape, sameBoot bool) {
	w.t.Helper()
	w.tape = tape
	if !sameBoot {
		w.boots++
	}
	if !w.start() {
		w.t.Fatal("it died")
	}
	w.day = w.ledger.book.day // the line of another day may not have been written
	w.check(sameBoot)
	counted := map[key]vector{}
	for k := range w.ledger.book.accounts {
		u := w.ledger.book.use(k)
		counted[k] = u.spent
		if u.parallel != 0 {
			w.t.Fatalf("%v has %d requests under way in a new process", k, u.parallel)
		}
	}
	w.past, w.now, w.perhaps = nil, nil, nil
	for k, v := range counted {
		w.past = append(w.past, request{of: []key{k}, least: v, most: v, ended: true})
	}
}
