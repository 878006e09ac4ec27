package prices

import (
	"cmp"
	"math"
	"math/bits"
	"strings"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/usage"
)

// Price is the cost of a million tokens of a model.
type Price struct {
	Input          budget.Money
	Output         budget.Money
	CacheRead      budget.Money
	CacheWrite     budget.Money
	CacheWriteHour budget.Money // kept for an hour
	MaxOutput      int64        // tokens that the model can write in an answer; 0 where it is not known
	MaxInput       int64        // tokens that the model can read for an answer; 0 where it is not known
	Image          int64        // tokens of an image at most; 0 where it is not known
	Long           *Price       // in the long window; nil where it is not known
}

// Request is what a bound depends on.
type Request struct {
	Body      int64 // bytes
	MaxOutput int64 // tokens of all its answers; 0 where it does not say
	Images    int64 // that lie in its body: a few bytes of one are thousands of tokens
	// Unmeasured says that it has the model read what its bytes do not bound: a document, sound, a film, or what the upstream
	// stores.
	Unmeasured bool
	// Long says that it has the model's long window.
	Long bool
}

// Table is the prices by route, and there by model or by the beginning of its name with a star.
type Table map[string]map[string]Price

// Known says how a price was found.
type Known int

// How a price was found.
const (
	Exactly Known = iota // the model has one
	Dearest              // the model has none: the dearest of its route was taken
	Unknown              // the route has none
)

func (k Known) String() string {
	switch k {
	case Exactly:
		return "the model's price"
	case Dearest:
		return "the model has no price; the dearest of its route counts"
	default:
		return "the route has no prices"
	}
}

const (
	// Overhead is the tokens that an API adds to the prompt at most.
	Overhead = 8192
	// DefaultMaxOutput is the number of tokens that a model can write in an answer, where the table does not say it.
	DefaultMaxOutput = 131072
	// DefaultMaxInput is what a model can read where the table does not say it, and the request's bytes do not bound it.
	DefaultMaxInput = 1 << 20
	// DefaultImage is what an image can cost where the table does not say it.
	DefaultImage = 10240
	million      = 1_000_000
)

// Price returns the price of a model of a route.
func (t Table) Price(route, model string) (Price, Known) {
	models := t[route]
	if p, ok := models[model]; ok {
		return p, Exactly
	}
	longest, best, found := -1, Price{}, false
	dearest := Price{}
	for name, p := range models {
		dearest = dearest.max(p)
		if begin, star := strings.CutSuffix(name, "*"); star && strings.HasPrefix(model, begin) && len(begin) > longest {
			longest, best, found = len(begin), p, true
		}
	}
	switch {
	case found:
		return best, Exactly
	case len(models) > 0:
		return dearest, Dearest
	}
	return Price{}, Unknown
}

// LongPriced says whether the table knows what a model's long window costs. A route without any price has amounts
// without one in each window.
func (t Table) LongPriced(route, model string) bool {
	p, known := t.Price(route, model)
	return p.Long != nil && known == Exactly || known == Unknown
}

// max is the dearer of each. Of a long window it knows nothing.
func (p Price) max(q Price) Price {
	return Price{
		Input:          max(p.Input, q.Input),
		Output:         max(p.Output, q.Output),
		CacheRead:      max(p.CacheRead, q.CacheRead),
		CacheWrite:     max(p.CacheWrite, q.CacheWrite),
		CacheWriteHour: max(p.CacheWriteHour, q.CacheWriteHour),
		MaxOutput:      max(p.MaxOutput, q.MaxOutput),
		MaxInput:       max(p.MaxInput, q.MaxInput),
		Image:          max(p.Image, q.Image),
	}
}

// Bound returns the most that a request may cost.
func (t Table) Bound(route, model string, r Request) (budget.Amount, Known) {
	p, known := t.Price(route, model)
	if known == Dearest { // what other models can read and write says nothing of this one
		p.MaxOutput, p.MaxInput, p.Image = max(p.MaxOutput, DefaultMaxOutput), 0, max(p.Image, DefaultImage)
	}
	if r.Long && p.Long != nil {
		window := p.Long.MaxInput
		p = p.max(*p.Long) // a prompt that is short costs what it costs in any window
		p.MaxInput = window
	}
	input, output := p.input(r), p.output(r.MaxOutput)
	dearestInput := max(p.Input, p.CacheRead, p.CacheWrite, p.CacheWriteHour)
	return budget.Amount{
		InputTokens:  input,
		OutputTokens: output,
		Requests:     1,
		Money:        cost(part{input, dearestInput}, part{output, p.Output}),
		Unpriced:     known == Unknown,
	}, known
}

// input is the tokens that the model reads at most. What the operator says of the model bounds it in any case.
func (p Price) input(r Request) int64 {
	input := add(max(r.Body, 0), Overhead)
	input = add(input, times(max(r.Images, 0), cmp.Or(p.Image, DefaultImage)))
	if r.Unmeasured {
		input = max(input, cmp.Or(p.MaxInput, DefaultMaxInput))
	}
	if p.MaxInput > 0 {
		input = min(input, p.MaxInput)
	}
	return input
}

func (p Price) output(asked int64) int64 {
	switch {
	case asked > 0:
		return asked
	case p.MaxOutput > 0:
		return p.MaxOutput
	}
	return DefaultMaxOutput
}

// Cost is the cost of an exchange that has ended. The long price is that of a prompt in the long window that is
// longer than the usual one takes: of all its tokens, and of its answer's.
func (t Table) Cost(route, model string, long bool, u usage.Usage) (budget.Amount, Known) {
	p, known := t.Price(route, model)
	if long && p.Long != nil && u.AllInput() > p.MaxInput {
		p = *p.Long
	}
	hour := min(u.CacheWriteHour, u.CacheWrite)
	return budget.Amount{
		InputTokens:  u.AllInput(),
		OutputTokens: u.Output,
		Requests:     1,
		Money: cost(
			part{u.Input, p.Input},
			part{u.Output, p.Output},
			part{u.CacheRead, p.CacheRead},
			part{u.CacheWrite - hour, p.CacheWrite},
			part{hour, p.CacheWriteHour},
		),
		Unpriced: known == Unknown,
	}, known
}

// part is so many tokens at a price for a million.
type part struct {
	tokens int64
	price  budget.Money
}

// cost is the price of all parts, rounded up once, at most the highest number.
func cost(parts ...part) budget.Money {
	high, low := uint64(0), uint64(million-1)
	for _, p := range parts {
		h, l := bits.Mul64(uint64(max(p.tokens, 0)), uint64(max(p.price, 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		if high, carry = bits.Add64(high, h, carry); carry > 0 {
			return math.MaxInt64
		}
	}
	if high >= million {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, million)
	return budget.Money(min(quotient, math.MaxInt64))
}

func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
