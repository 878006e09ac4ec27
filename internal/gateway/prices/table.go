package prices

import (
	"cmp"
	"math"
	"math/bits"
	"strings"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/usage"
)

// Price is the price of a million tokens of a model.
type Price struct {
	Input          budget.Money
	Output         budget.Money
	CacheRead      budget.Money
	CacheWrite     budget.Money
	CacheWriteHour budget.Money // of tokens that are kept for an hour
	MaxOutput      int64        // tokens that the model can write in an answer; 0 if unknown
	MaxInput       int64        // tokens that the model can read for an answer; 0 if unknown
	Image          int64        // most tokens of an image; 0 if unknown
	Long           *Price       // in the long window; nil if unknown
}

// Request holds the properties of a request that decide its bound.
type Request struct {
	Body      int64 // bytes
	MaxOutput int64 // tokens of all its answers; 0 if the request does not say
	Images    int64 // images in its body: a few bytes of an image can be thousands of tokens
	// Unmeasured means that the request has the model read content that its bytes do not bound: a document, sound, a
	// film, or content that the upstream stores.
	Unmeasured bool
	// Long means that the request uses the model's long window.
	Long bool
}

// Table holds the prices by route, and then by model name, or by the beginning of a name and a star.
type Table map[string]map[string]Price

// Known says how a price was found.
type Known int

// Ways to find a price.
const (
	Exactly Known = iota // the model has a price
	Dearest              // the model has none: the highest of its route counts
	Unknown              // the route has no prices
)

func (k Known) String() string {
	switch k {
	case Exactly:
		return "the model's price"
	case Dearest:
		return "the model has no price; the highest price of its route counts"
	default:
		return "the route has no prices"
	}
}

const (
	// Overhead is the most tokens that an API adds to a prompt.
	Overhead = 8192
	// DefaultMaxOutput is the most tokens that a model writes, if the table does not say.
	DefaultMaxOutput = 131072
	// DefaultMaxInput is the most tokens that a model reads, if the table does not say and the request's bytes do not
	// bound it.
	DefaultMaxInput = 1 << 20
	// DefaultImage is the most tokens of an image, if the table does not say.
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

// LongPriced reports whether the table knows the price of a model's long window. On a route without any price it is
// true, because no window there has a price anyway.
func (t Table) LongPriced(route, model string) bool {
	p, known := t.Price(route, model)
	return p.Long != nil && known == Exactly || known == Unknown
}

// max returns the higher value of each field. It leaves the long window out.
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
	if known == Dearest { // the limits of other models tell nothing about this one
		p.MaxOutput, p.MaxInput, p.Image = max(p.MaxOutput, DefaultMaxOutput), 0, max(p.Image, DefaultImage)
	}
	if r.Long && p.Long != nil {
		long := p.max(*p.Long)
		long.MaxInput = p.Long.MaxInput
		if long.input(r) > p.MaxInput { // a short prompt costs the normal price in any window
			p = long
		}
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

// input returns the most tokens that the model may read. The table's MaxInput bounds it in any case.
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

// Cost returns the cost of an exchange that has ended. The long price applies if the request uses the long window and
// its prompt is longer than the normal window takes. Then it applies to all tokens of the prompt and of the answer.
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

// part is a number of tokens, and their price for a million.
type part struct {
	tokens int64
	price  budget.Money
}

// cost returns the price of all parts, rounded up once. It stops at the highest number.
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
