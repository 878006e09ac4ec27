package budget

import "math"

// Amount is the cost of exchanges, or the most that they may cost.
type Amount struct {
	InputTokens  int64 `json:"input_tokens,omitempty"` // all that the model read, also from a cache
	OutputTokens int64 `json:"output_tokens,omitempty"`
	Requests     int64 `json:"requests,omitempty"`
	Money        Money `json:"money,omitempty"`
	// Unpriced means that the money is unknown. A scope that limits money refuses such a bound.
	Unpriced bool `json:"unpriced,omitempty"`
}

// What is a quantity that a budget limits.
type What int

// Quantities that a budget limits. Those before Parallel are sums, and an Amount holds them.
const (
	InputTokens What = iota
	OutputTokens
	Requests
	Spending
	Parallel
	sums = int(Parallel)
)

func (w What) String() string {
	return [...]string{"input tokens", "output tokens", "requests", "money", "parallel requests"}[w]
}

// vector is an Amount in the order of What.
type vector [sums]int64

func (a Amount) vector() vector {
	return vector{a.InputTokens, a.OutputTokens, a.Requests, int64(a.Money)}
}

func (v vector) amount() Amount {
	return Amount{InputTokens: v[InputTokens], OutputTokens: v[OutputTokens], Requests: v[Requests], Money: Money(v[Spending])}
}

// plus adds the numbers one by one. A sum stops at the highest number and never overflows to a low one.
func (v vector) plus(w vector) vector {
	for i := range v {
		v[i] = sum(v[i], w[i])
	}
	return v
}

// atLeast returns the higher of each pair of numbers.
func (v vector) atLeast(w vector) vector {
	for i := range v {
		v[i] = max(v[i], w[i])
	}
	return v
}

// covers reports whether no number of w is higher.
func (v vector) covers(w vector) bool { return v.atLeast(w) == v }

func (v vector) negative() bool {
	for _, n := range v {
		if n < 0 {
			return true
		}
	}
	return false
}

// sum adds two numbers that are not negative.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Plus returns the sum of two amounts. No number overflows. The sum is unpriced if either amount is.
func (a Amount) Plus(b Amount) Amount {
	both := a.vector().plus(b.vector()).amount()
	both.Unpriced = a.Unpriced || b.Unpriced
	return both
}
