package budget

// Kinds of scopes that Torno uses. Others are possible.
const (
	Run      = "run"
	Subagent = "subagent"
	Tree     = "tree" // a parent and everything below it
	// OutboxDay is an outbox on one day. The ledger adds the day.
	OutboxDay = "outbox-day"
)

// Scope is something that has a budget. An ID belongs to one scope for ever and is never used again.
type Scope struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

func (s Scope) String() string {
	if s.Kind == OutboxDay {
		return "outbox " + s.ID + " today"
	}
	return s.Kind + " " + s.ID
}

// Limits bounds the cost of a scope. An absent limit limits nothing; a limit of 0 allows nothing.
type Limits struct {
	InputTokens  *int64 `json:"input_tokens,omitempty"`
	OutputTokens *int64 `json:"output_tokens,omitempty"`
	Requests     *int64 `json:"requests,omitempty"`
	Money        *Money `json:"money,omitempty"`
	Parallel     *int64 `json:"parallel,omitempty"` // requests at a time
	// KeepForLast is the percentage of each sum that only a last request may use. It never takes the whole limit.
	KeepForLast int `json:"keep_for_last,omitempty"`
}

// Claim is a scope that a request counts for, and its limits.
type Claim struct {
	Scope  Scope  `json:"scope"`
	Limits Limits `json:"limits"`
}

// of returns the limit for w. It panics if w is not a What.
func (l *Limits) of(w What) (limit int64, ok bool) {
	var at *int64
	switch w {
	case InputTokens:
		at = l.InputTokens
	case OutputTokens:
		at = l.OutputTokens
	case Requests:
		at = l.Requests
	case Parallel:
		at = l.Parallel
	case Spending:
		at = (*int64)(l.Money)
	default:
		panic("no such limit")
	}
	if at == nil {
		return 0, false
	}
	return max(*at, 0), true
}

// kept returns the share of a limit that is kept for the last request.
func (l *Limits) kept(limit int64) int64 {
	percent := int64(min(max(l.KeepForLast, 0), 100))
	share := limit/100*percent + (limit%100*percent+99)/100
	return max(min(share, limit-1), 0)
}

// use holds the spending of a scope and its open reservations.
type use struct {
	spent, open vector
	parallel    int64
}

// verdict is the result of judge.
type verdict int

const (
	fits  verdict = iota
	waits         // only reservations of other requests are in the way
	exceeds
)

// judge decides whether a request fits, and names the limit in its way. A quantity that the request cannot use needs no
// room.
func (l *Limits) judge(u use, bound Amount, last bool) (verdict, What) {
	worst, why := fits, What(0)
	note := func(v verdict, w What) {
		if v > worst {
			worst, why = v, w
		}
	}
	for w, wanted := range bound.vector() {
		limit, ok := l.of(What(w))
		if ok && !last {
			limit -= l.kept(limit)
		}
		switch {
		case ok && What(w) == Spending && bound.Unpriced:
			note(exceeds, Spending)
		case !ok || wanted == 0:
		case sum(u.spent[w], wanted) > limit:
			note(exceeds, What(w))
		case sum(sum(u.spent[w], u.open[w]), wanted) > limit:
			note(waits, What(w))
		}
	}
	if limit, ok := l.of(Parallel); ok && limit == 0 {
		note(exceeds, Parallel)
	} else if ok && u.parallel >= limit {
		note(waits, Parallel)
	}
	return worst, why
}
