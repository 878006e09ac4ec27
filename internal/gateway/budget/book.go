package budget

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// book is the sum of a ledger's lines. It does no input and no output: the ledger applies each line to it when the line
// is written, and again when the ledger is read.
type book struct {
	version  int // of the lines that follow
	accounts map[key]*account
	days     map[string][]int64 // by outbox: days with an account
	open     map[uint64]*entry
	last     uint64 // the highest number of any reservation
	day      int64  // the current day
	boot     string // the machine's boot when the last process opened the ledger
	begun    bool
	ended    bool // that process closed the ledger
}

// account is the state of one scope.
type account struct {
	spent vector
	ahead vector // the cost that the disk allows for: after a power cut it counts as spent
	open  map[uint64]vector
}

// entry is an open reservation.
type entry struct {
	of    []key
	bound vector
}

func newBook() *book {
	return &book{accounts: map[key]*account{}, days: map[string][]int64{}, open: map[uint64]*entry{}}
}

// use returns the used part of an account's limits. It adds the open reservations anew each time, because a sum that
// stopped at the highest number cannot be subtracted from.
func (b *book) use(k key) use {
	a := b.accounts[k]
	if a == nil {
		return use{}
	}
	u := use{spent: a.spent, parallel: int64(len(a.open))}
	for _, bound := range a.open {
		u.open = u.open.plus(bound)
	}
	return u
}

// counted returns the use that is compared with a scope's limits. For a day it includes spending that was noted under
// later days: the clock was ahead then and was set back, so that spending belongs to today.
func (b *book) counted(k key) (all use) {
	for _, k := range b.countedKeys(k) {
		u := b.use(k)
		all.spent, all.open, all.parallel = all.spent.plus(u.spent), all.open.plus(u.open), all.parallel+u.parallel
	}
	return all
}

// countedKeys returns the keys of the accounts that count for a scope.
func (b *book) countedKeys(k key) (all []key) {
	if b.accounts[k] != nil {
		all = append(all, k)
	}
	if k.Kind != OutboxDay || k.Day > b.day {
		return all
	}
	for _, day := range b.days[k.ID] {
		if day > k.Day {
			all = append(all, key{k.Scope, day})
		}
	}
	return all
}

// keptDays is how many days before the current one an outbox keeps. If the clock jumps ahead and is set back, the old
// day is still there.
const keptDays = 3

// moveTo changes the current day. When a later day begins, it forgets days after it, which a clock that was ahead has
// noted, and days that are long past.
func (b *book) moveTo(day int64) {
	later := day > b.day
	b.day = day
	if !later {
		return
	}
	for outbox, days := range b.days {
		days = slices.Sorted(slices.Values(days))
		present, _ := slices.BinarySearch(days, day)
		for i, d := range days {
			k := key{Scope{OutboxDay, outbox}, d}
			if (d > day || i < present-keptDays) && len(b.accounts[k].open) == 0 {
				b.remove(k)
			}
		}
	}
}

func (b *book) account(k key) *account {
	a := b.accounts[k]
	if a == nil {
		a = &account{open: map[uint64]vector{}}
		b.accounts[k] = a
		if k.Kind == OutboxDay {
			b.days[k.ID] = append(b.days[k.ID], k.Day)
		}
	}
	return a
}

func (b *book) remove(k key) {
	delete(b.accounts, k)
	if k.Kind != OutboxDay {
		return
	}
	left := slices.DeleteFunc(b.days[k.ID], func(day int64) bool { return day == k.Day })
	b.days[k.ID] = left
	if len(left) == 0 {
		delete(b.days, k.ID)
	}
}

// apply applies a line. If the line cannot follow the earlier ones, apply returns an error and changes nothing.
func (b *book) apply(r record) error {
	if !b.begun && r.Op != opBegin {
		return errors.New("it does not begin a ledger")
	}
	err := b.operate(r)
	if err == nil {
		for _, a := range r.Ahead {
			account := b.account(a.key)
			account.ahead = account.ahead.atLeast(a.Amount.vector())
		}
	}
	return err
}

func (b *book) operate(r record) error {
	switch r.Op {
	case opBegin:
		return b.begin(r)
	case opEnd:
		b.ended = true
		return nil
	case opReserve:
		return b.reserve(r)
	case opSettle:
		return b.settle(r)
	case opSpent, opForget:
		return b.one(r)
	case opDay:
		b.moveTo(r.Day)
		return nil
	}
	return fmt.Errorf("the operation %q is not known", r.Op)
}

// begin counts as spent all reservations that another process left open. After another start of the machine, lines may
// be lost, so each scope counts as much as it was allowed ahead.
func (b *book) begin(r record) error {
	if r.Version < firstVersion || r.Version > version {
		return fmt.Errorf("the ledger has version %d, and this program knows %d", r.Version, version)
	}
	b.foldOpen()
	if !b.ended && (r.Boot == "" || r.Boot != b.boot) {
		for _, a := range b.accounts {
			a.spent = a.spent.atLeast(a.ahead)
		}
	}
	b.version, b.boot, b.begun, b.ended = r.Version, r.Boot, true, false
	b.last, b.day = max(b.last, r.ID), max(b.day, r.Day)
	return nil
}

func (b *book) foldOpen() {
	for id, e := range b.open {
		b.close(id, e, e.bound)
	}
}

func (b *book) reserve(r record) error {
	if r.ID <= b.last || len(r.Of) == 0 {
		return fmt.Errorf("reservation %d cannot follow %d", r.ID, b.last)
	}
	e := &entry{of: r.Of, bound: r.Amount.vector()}
	for _, k := range r.Of {
		b.account(k).open[r.ID] = e.bound
		if b.version == firstVersion { // in this version a day began with the first reservation on it
			b.day = max(b.day, k.Day)
		}
	}
	b.open[r.ID], b.last = e, r.ID
	return nil
}

func (b *book) settle(r record) error {
	e := b.open[r.ID]
	if e == nil {
		return fmt.Errorf("reservation %d is not open", r.ID)
	}
	b.close(r.ID, e, r.Amount.vector())
	return nil
}

func (b *book) close(id uint64, e *entry, cost vector) {
	for _, k := range e.of {
		a := b.account(k)
		delete(a.open, id)
		a.spent = a.spent.plus(cost)
	}
	delete(b.open, id)
}

// one applies a line that names exactly one scope.
func (b *book) one(r record) error {
	if len(r.Of) != 1 {
		return fmt.Errorf("%s is of %d scopes", r.Op, len(r.Of))
	}
	a := b.account(r.Of[0])
	switch r.Op {
	case opSpent:
		a.spent, a.ahead = r.Amount.vector(), vector{}
	case opForget:
		if len(a.open) > 0 {
			return fmt.Errorf("%s has open reservations", r.Of[0])
		}
		b.remove(r.Of[0])
	}
	return nil
}

// lines returns the shortest ledger with the same sum.
func (b *book) lines() []record {
	var accounts, open []record
	for k, a := range b.accounts {
		accounts = append(accounts, record{
			Op: opSpent, Of: []key{k}, Amount: a.spent.amount(), Ahead: []ahead{{k, a.ahead.amount()}},
		})
	}
	lowest := b.last + 1
	for id, e := range b.open {
		open = append(open, record{Op: opReserve, ID: id, Of: e.of, Amount: e.bound.amount()})
		lowest = min(lowest, id)
	}
	slices.SortFunc(open, func(x, y record) int { return cmp.Compare(x.ID, y.ID) })
	begin := record{Op: opBegin, Version: version, Boot: b.boot, Day: b.day, ID: lowest - 1}
	return slices.Concat([]record{begin}, accounts, open)
}

func (k key) String() string {
	return strings.TrimSpace(k.Kind + " " + k.ID)
}
