package budget

import (
	"fmt"
	"math"
	"strconv"
)

// Spent is the error that a scope's budget does not allow a request. Its text is for the client too.
type Spent struct {
	Scope Scope
	What  What
	Limit int64 // the most that the scope may cost, in nano units if What is Spending
	Used  int64 // the scope's cost until now
	Bound int64 // the most that the request may cost
	Kept  int64 // the part of the limit kept for the last request; 0 if this is the last one
	// Unpriced means that no price is known for the request, so a limit of money cannot hold.
	Unpriced bool
}

func (s *Spent) Error() string {
	switch {
	case s.Unpriced:
		return fmt.Sprintf("the budget of %s limits money, and no price is known for this request: write one into the prices", s.Scope)
	case s.What == Parallel:
		return fmt.Sprintf("the budget of %s allows %d parallel requests", s.Scope, s.Limit)
	}
	what := s.What.String()
	if s.What == Spending {
		what = "in money"
	}
	text := fmt.Sprintf("the budget of %s is spent: %s of %s %s are used, and this request may need %s",
		s.Scope, s.show(s.Used), s.show(s.Limit), what, s.show(s.Bound))
	if s.Kept > 0 {
		text += fmt.Sprintf("; %s are kept for the final answer", s.show(s.Kept))
	}
	return text
}

func (s *Spent) show(n int64) string {
	switch {
	case n == math.MaxInt64:
		return "countless"
	case s.What == Spending:
		return Money(n).String()
	}
	return strconv.FormatInt(n, 10)
}

func (l *Limits) spent(scope Scope, w What, u use, bound Amount, last bool) *Spent {
	limit, _ := l.of(w)
	s := &Spent{Scope: scope, What: w, Limit: limit, Unpriced: w == Spending && bound.Unpriced}
	if w != Parallel {
		s.Used, s.Bound = u.spent[w], bound.vector()[w]
		if !last {
			s.Kept = l.kept(limit)
		}
	}
	return s
}
