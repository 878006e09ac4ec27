package budget

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"torno/internal/boot"
	"torno/internal/calendar"
)

// days is an outbox that may make requests, a number each day, and a clock that is believed.
type days struct {
	*testing.T
	tape   *tape
	clock  int64 // in days
	ledger *Ledger
	claim  Claim
}

func newDays(t *testing.T, requests int64) *days {
	d := &days{T: t, tape: newTape(), clock: 100, claim: Claim{Scope{OutboxDay, "o"}, Limits{Requests: new(requests)}}}
	d.start()
	return d
}

func (d *days) start() {
	d.Helper()
	now := func() time.Time { return time.Unix(d.clock*daySeconds, 0) }
	l, err := open(setting{disk: d.tape, boot: "1", now: now, least: compactAt})
	if err != nil {
		d.Fatal(err)
	}
	d.ledger = l
}

// on makes requests on a day.
func (d *days) on(day int64) (made int) {
	d.Helper()
	d.clock = day
	return d.spend()
}

// spend makes as many requests as it may, and says how many those were.
func (d *days) spend() (made int) {
	d.Helper()
	for ; made < 10; made++ {
		r, err := d.ledger.Reserve(d.Context(), []Claim{d.claim}, oneRequest, false)
		if _, spent := errors.AsType[*Spent](err); spent {
			return made
		}
		if err = errors.Join(err, r.Settle(oneRequest)); err != nil {
			d.Fatal(err)
		}
	}
	return made
}

// again has another process go on, with a ledger that was written anew where that is asked for.
func (d *days) again(anew bool) {
	d.Helper()
	if anew {
		d.ledger.grown = d.ledger.allowed
		d.ledger.compact()
	}
	d.tape = d.tape.afterKill()
	d.start()
}

// TestADayHasItsBudgetOnce, however often a clock that is believed goes to and fro. When it is back from a day ahead, what was spent
// there was spent today; when the next day begins, that is over.
func TestADayHasItsBudgetOnce(t *testing.T) {
	for name, again := range map[string]func(*days){
		"one process": func(*days) {}, "another each time": func(d *days) { d.again(false) }, "written anew": func(d *days) { d.again(true) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDays(t, 2)
			for i, step := range []struct {
				day  int64
				made int
			}{
				{100, 2}, {100, 0}, {465, 2}, {100, 0}, {465, 0}, {100, 0}, {101, 2}, {100, 0}, {101, 0}, {102, 2}, {99, 0}, {103, 2}, {465, 2}, {466, 2}, {104, 0}, {105, 2},
			} {
				if made := d.on(step.day); made != step.made {
					t.Errorf("step %d, on day %d: %d requests were made, and there should be %d", i, step.day, made, step.made)
				}
				again(d)
			}
		})
	}
}

// TestADayAheadRefusesNoYear: a ledger of the first version, in which a clock that was a year ahead has spent all.
func TestADayAheadRefusesNoYear(t *testing.T) {
	d := newDays(t, 2)
	d.tape = newTape()
	f, err := d.tape.open(ledgerName)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, r := range []record{
		{Op: opBegin, Version: firstVersion, Boot: "1"},
		{Op: opReserve, ID: 1, Of: []key{{d.claim.Scope, 100}}, Amount: oneRequest}, {Op: opSettle, ID: 1, Amount: oneRequest},
		{Op: opReserve, ID: 2, Of: []key{{d.claim.Scope, 465}}, Amount: Amount{Requests: 2}}, {Op: opSettle, ID: 2, Amount: Amount{Requests: 2}},
	} {
		if text, err = encode(text, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	d.start()
	if made := d.on(100); made != 0 {
		t.Errorf("today has spent all under a day ahead, and %d requests were made", made)
	}
	d.again(true)
	if made := d.on(101); made != 2 {
		t.Errorf("on the next day %d requests were made", made)
	}
}

// TestARequestUnderWayKeepsItsDay, although that lies ahead and another day begins: what it costs counts.
func TestARequestUnderWayKeepsItsDay(t *testing.T) {
	d := newDays(t, 2)
	d.clock = 465
	r := reserve(t, d.ledger, oneRequest, d.claim)
	for _, day := range []int64{100, 101} {
		d.clock = day
		reserve(t, d.ledger, Amount{}, d.claim).Settle(Amount{})
		if u := d.ledger.Use(d.claim.Scope); u.Parallel != 1 {
			t.Errorf("on day %d there is under way %+v", day, u)
		}
	}
	if err := r.Settle(oneRequest); err != nil {
		t.Fatal(err)
	}
	if made := d.on(101); made != 1 {
		t.Errorf("%d requests were made beside it", made)
	}
}

// TestAnOperatorResetsABudget: of a day also what lies ahead is gone, and a request under way counts when it ends. The next process knows it.
func TestAnOperatorResetsABudget(t *testing.T) {
	d := newDays(t, 2)
	d.on(100)
	d.on(465)
	d.clock = 100
	if was, err := d.ledger.Reset(d.claim.Scope); err != nil || was.Spent.Requests != 4 {
		t.Errorf("it ends %+v, %v", was, err)
	}
	d.again(true)
	r := reserve(t, d.ledger, oneRequest, d.claim)
	reserve(t, d.ledger, oneRequest, d.claim).Settle(oneRequest)
	if was, err := d.ledger.Reset(d.claim.Scope); err != nil || was.Spent.Requests != 1 || was.Parallel != 1 {
		t.Errorf("with a request under way it ends %+v, %v", was, err)
	}
	if err := r.Settle(oneRequest); err != nil {
		t.Fatal(err)
	}
	d.again(false)
	if made := d.on(100); made != 1 {
		t.Errorf("%d requests were made beside the one under way", made)
	}
	if was, err := d.ledger.Reset(Scope{Tree, "never"}); err != nil || was != (Use{}) {
		t.Errorf("of a scope that spent nothing it ends %+v, %v", was, err)
	}
}

// TestAResetSurvivesAPowerCut: a request is under way, others were made before. What the reset threw away does not come back, whatever of the
// unflushed lines is on the disk, and the request under way counts once.
func TestAResetSurvivesAPowerCut(t *testing.T) {
	for _, underWay := range []int64{0, 1} {
		for seed := range uint64(20) {
			d := newDays(t, 100)
			for range underWay {
				reserve(t, d.ledger, oneRequest, d.claim)
			}
			if made := d.spend(); made != 10 {
				t.Fatalf("%d requests were made", made)
			}
			if _, err := d.ledger.Reset(d.claim.Scope); err != nil {
				t.Fatal(err)
			}
			now := func() time.Time { return time.Unix(d.clock*daySeconds, 0) }
			next, err := open(setting{disk: d.tape.afterPowerCut(rand.New(rand.NewPCG(seed, 1))), boot: "2", now: now, least: compactAt})
			if err != nil {
				t.Fatal(err)
			}
			if spent := next.Use(d.claim.Scope).Spent.Requests; spent != underWay {
				t.Fatalf("with %d under way %d requests count", underWay, spent)
			}
		}
	}
}

// TestAClockThatJumps, and the calendar and the ledger of a gateway that is started again each time: a year ahead counts only when it has
// lasted, a restart of the machine does not help it, and back on its day an outbox has spent what it spent.
func TestAClockThatJumps(t *testing.T) {
	d := newDays(t, 2)
	dir, noon := t.TempDir(), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	seen := calendar.Sight{Wall: noon, At: boot.Moment{ID: "1", Up: time.Hour}}
	const year = 365 * 24 * time.Hour
	for i, step := range []struct {
		jump, passes time.Duration
		boot         string
		made         int
	}{
		{0, 0, "1", 2}, {year, 0, "1", 0}, {0, calendar.Lasts / 2, "1", 0}, {-year, 0, "1", 0}, // taken back at once
		{year, 0, "1", 0}, {0, 0, "2", 0}, {0, calendar.Lasts, "2", 2}, {0, 0, "2", 0}, // taken after a restart, when it has lasted there
		{-year, 0, "2", 0}, {0, calendar.Lasts, "2", 0}, // back: today has spent both
		{year + 24*time.Hour, calendar.Lasts, "2", 0}, {-year - 24*time.Hour, 0, "2", 0}, // another one within a day is not taken
		{0, 24 * time.Hour, "2", 2}, // tomorrow
	} {
		if seen.At.ID != step.boot {
			seen.At = boot.Moment{ID: step.boot}
		}
		seen.Wall = seen.Wall.Add(step.jump)
		days := calendar.OpenBy(func() calendar.Sight { return seen }, dir, slog.New(slog.DiscardHandler))
		days.Now()
		seen.Wall, seen.At = seen.Wall.Add(step.passes), seen.At.Add(step.passes)
		l, err := open(setting{disk: d.tape.afterKill(), boot: step.boot, now: days.Now, least: compactAt})
		if err != nil {
			t.Fatal(err)
		}
		d.ledger = l
		if made := d.spend(); made != step.made {
			t.Errorf("step %d, %s: %d requests were made, and there should be %d", i, seen.Wall, made, step.made)
		}
		d.tape = l.log.disk.(*tape)
	}
}
