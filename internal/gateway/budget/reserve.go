package budget

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

var (
	errClosed   = errors.New("the ledger is closed")
	errSettled  = errors.New("the reservation has ended already")
	errNegative = errors.New("an amount cannot be negative: the reserved amount counts")
)

const (
	maxClaims = 64
	maxName   = 4096
)

// Reservation is the most that a request under way may cost. Settle, SettleUnknown or Cancel ends it.
type Reservation struct {
	ledger *Ledger
	id     uint64
	bound  Amount
}

// Bound returns the reserved amount.
func (r *Reservation) Bound() Amount { return r.bound }

// Reserve takes an upper bound of a request's cost out of the budgets of all its claims, or out of none. When it
// returns, the bound is in the ledger and the request may leave. If last is true, the request may use the share that is
// kept for the final answer.
//
// Reserve returns *Spent if a budget does not allow the request, however little the requests under way will cost. If
// only their reservations, or their number, are in the way, Reserve waits for one of them to end, until ctx ends.
func (l *Ledger) Reserve(ctx context.Context, claims []Claim, bound Amount, last bool) (*Reservation, error) {
	if err := check(claims, bound); err != nil {
		return nil, err
	}
	for {
		r, why, again, err := l.try(claims, bound, last)
		if err != nil || r != nil {
			return r, err
		}
		select {
		case <-again:
		case <-ctx.Done():
			return nil, fmt.Errorf("requests under way have reserved the rest: %w: %w", why, context.Cause(ctx))
		}
	}
}

func check(claims []Claim, bound Amount) error {
	if bound.vector().negative() {
		return fmt.Errorf("reserve %+v: a bound cannot be negative", bound)
	}
	if len(claims) == 0 || len(claims) > maxClaims {
		return fmt.Errorf("a request counts for 1 to %d scopes, not %d", maxClaims, len(claims))
	}
	seen := map[Scope]bool{}
	for _, c := range claims {
		for _, name := range []string{c.Scope.Kind, c.Scope.ID} {
			if name == "" || len(name) > maxName || !utf8.ValidString(name) {
				return fmt.Errorf("%.80q is not the name of a scope", name)
			}
		}
		if seen[c.Scope] {
			return fmt.Errorf("%s is claimed twice", c.Scope)
		}
		seen[c.Scope] = true
	}
	return nil
}

// try reserves now. If it cannot, it returns the reason and a channel to wait for.
func (l *Ledger) try(claims []Claim, bound Amount, last bool) (r *Reservation, why *Spent, again <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, nil, errClosed
	}
	today, err := l.turnDay()
	if err != nil {
		return nil, nil, nil, err
	}
	keys := make([]key, len(claims))
	for i, c := range claims {
		keys[i] = keyOn(today, c.Scope)
		u := l.book.counted(keys[i])
		switch v, w := c.Limits.judge(u, bound, last); v {
		case exceeds:
			return nil, nil, nil, c.Limits.spent(c.Scope, w, u, bound, last)
		case waits:
			why = c.Limits.spent(c.Scope, w, u, bound, last)
		}
	}
	if why != nil {
		return nil, why, l.released, nil
	}
	if err := l.log.here(); err != nil {
		return nil, nil, nil, err
	}
	id := l.book.last + 1
	reserved := record{Op: opReserve, ID: id, Of: keys, Amount: priced(bound), Ahead: l.ahead(keys, bound.vector())}
	if err := l.write(reserved); err != nil {
		return nil, nil, nil, fmt.Errorf("write the reservation: %w", err)
	}
	l.compact()
	return &Reservation{ledger: l, id: id, bound: bound}, nil, nil, nil
}

// priced returns an amount as the ledger stores it.
func priced(a Amount) Amount { return a.vector().amount() }

// aheadBy is how many requests of this size a scope may begin before the ledger is flushed again. After a power cut a
// scope counts as if it had begun them all.
const aheadBy = 8

// ahead returns the entries that let scopes cost that much more. They reach the disk before a scope may spend the
// amount, because lines of reservations are not flushed, and a power cut may take them.
func (l *Ledger) ahead(of []key, more vector) (all []ahead) {
	for _, k := range of {
		u := l.book.use(k)
		now := u.spent.plus(u.open).plus(more)
		if a := l.book.accounts[k]; a != nil && a.ahead.covers(now) {
			continue
		}
		for range aheadBy - 1 {
			now = now.plus(more)
		}
		all = append(all, ahead{k, now.amount()})
	}
	return all
}

// Expect does now the flush for which the first request with such a bound would wait. After it, the scope can begin
// such requests without a flush. It costs the scope nothing, unless the power is cut.
func (l *Ledger) Expect(scope Scope, bound Amount) error {
	if err := check([]Claim{{Scope: scope}}, bound); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	today, err := l.turnDay()
	if err != nil {
		return err
	}
	of := []key{keyOn(today, scope)}
	ahead := l.ahead(of, bound.vector())
	if len(ahead) == 0 {
		return nil
	}
	id := l.book.last + 1
	if err := l.write(record{Op: opReserve, ID: id, Of: of, Amount: Amount{}, Ahead: ahead}); err != nil {
		return fmt.Errorf("write the expected amount: %w", err)
	}
	if err := l.write(record{Op: opSettle, ID: id}); err != nil {
		return fmt.Errorf("write the expected amount: %w", errors.Join(err, l.book.apply(record{Op: opSettle, ID: id})))
	}
	l.compact()
	return nil
}

// Settle ends the reservation with the real cost of the exchange, which may be less or more than was reserved. It does
// not believe a negative number: then the bound counts, and Settle returns an error. After any other error the
// reservation stays open in the file, and so counts as spent there.
func (r *Reservation) Settle(cost Amount) error {
	if cost.vector().negative() {
		return errors.Join(errNegative, r.end(r.bound.vector()))
	}
	return r.end(cost.vector())
}

// SettleUnknown ends the reservation of an exchange whose cost is unknown: the bound counts.
func (r *Reservation) SettleUnknown() error { return r.end(r.bound.vector()) }

// Cancel ends the reservation of a request of which not one byte was sent: it cost nothing.
func (r *Reservation) Cancel() error { return r.end(vector{}) }

func (r *Reservation) end(cost vector) error {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.book.open[r.id]
	switch {
	case l.closed:
		return errClosed
	case e == nil:
		return errSettled
	}
	settled := record{Op: opSettle, ID: r.id, Amount: cost.amount()}
	if !e.bound.covers(cost) {
		settled.Ahead = l.ahead(e.of, cost)
	}
	err := l.write(settled)
	if err != nil {
		// The file still has the reservation. Count the higher number here, so that this process allows no more than
		// the next one will.
		settled.Amount, settled.Ahead = cost.atLeast(e.bound).amount(), nil
		err = errors.Join(fmt.Errorf("write the spent amount: %w", err), l.book.apply(settled))
	}
	l.wake()
	l.compact()
	return err
}
