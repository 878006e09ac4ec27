package prices

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/usage"
)

const written = `
anthropic:
  claude-opus-*: {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25, cache_write_hour: 10, max_output: 64000}
  claude-opus-5-5: {input: 6, output: 30}
  claude-*: {input: "1", output: 5.00}
openai:
  gpt-mini: {input: 0.075, output: 0.3, cache_read: 0.0375}
ollama:
  "*": {input: 0, output: 0}
`

func table(t *testing.T, text string) (Table, error) {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	return Parse(tree)
}

func priced(t *testing.T) Table {
	t.Helper()
	all, err := table(t, written)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatCounts(t *testing.T) {
	all := priced(t)
	const u = budget.Unit
	for _, c := range []struct {
		route, model string
		want         Price
		known        Known
	}{
		{"anthropic", "claude-opus-5-1", Price{5 * u, 25 * u, u / 2, 6*u + u/4, 10 * u, 64000, 0, 0, nil}, Exactly},
		{"anthropic", "claude-opus-5-5", Price{6 * u, 30 * u, 6 * u, 12 * u, 12 * u, 0, 0, 0, nil}, Exactly},
		{"anthropic", "claude-haiku", Price{u, 5 * u, u, 2 * u, 2 * u, 0, 0, 0, nil}, Exactly},
		{"anthropic", "other", Price{6 * u, 30 * u, 6 * u, 12 * u, 12 * u, 64000, 0, 0, nil}, Dearest},
		{"anthropic", "", Price{6 * u, 30 * u, 6 * u, 12 * u, 12 * u, 64000, 0, 0, nil}, Dearest},
		{"openai", "gpt-mini", Price{75_000_000, 300_000_000, 37_500_000, 150_000_000, 150_000_000, 0, 0, 0, nil}, Exactly},
		{"ollama", "any", Price{}, Exactly},
		{"nowhere", "any", Price{}, Unknown},
	} {
		if got, known := all.Price(c.route, c.model); got != c.want || known != c.known {
			t.Errorf("%s of %s: %+v, %v; want %+v, %v", c.model, c.route, got, known, c.want, c.known)
		}
	}
}

func TestCost(t *testing.T) {
	all := priced(t)
	got, _ := all.Cost("anthropic", "claude-opus-5-1", false, usage.Usage{Input: 1000, Output: 100, CacheRead: 2000, CacheWrite: 300, CacheWriteHour: 100})
	// 1000×5 + 100×25 + 2000×0.5 + 200×6.25 + 100×10, in millionths
	want := budget.Amount{InputTokens: 3300, OutputTokens: 100, Requests: 1, Money: 10_750_000}
	if got != want {
		t.Errorf("it costs %+v, want %+v", got, want)
	}
	if got, known := all.Cost("nowhere", "x", false, usage.Usage{Output: 1}); !got.Unpriced || known != Unknown {
		t.Errorf("without a price: %+v, %v", got, known)
	}
	if got, _ := all.Cost("ollama", "x", false, usage.Usage{Output: 1}); got.Unpriced || got.Money != 0 {
		t.Errorf("what is free: %+v", got)
	}
}

// TestABoundIsOne: no usage within the bound's tokens costs more than it, whatever the tokens are.
func TestABoundIsOne(t *testing.T) {
	all := priced(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		route, model := "anthropic", []string{"claude-opus-5-1", "claude-opus-5-5", "claude-haiku", "other"}[random.IntN(4)]
		body, output := random.Int64N(1<<20), random.Int64N(1<<16)
		bound, _ := all.Bound(route, model, Request{Body: body, MaxOutput: output})
		left := body + Overhead
		take := func() int64 {
			n := random.Int64N(left + 1)
			left -= n
			return n
		}
		u := usage.Usage{Input: take(), CacheRead: take(), CacheWrite: take(), Output: random.Int64N(bound.OutputTokens + 1)}
		u.CacheWriteHour = random.Int64N(u.CacheWrite + 1)
		cost, _ := all.Cost(route, model, false, u)
		if cost.Money > bound.Money || cost.InputTokens > bound.InputTokens || cost.OutputTokens > bound.OutputTokens {
			t.Fatalf("%+v costs %+v, more than the bound %+v", u, cost, bound)
		}
	}
}

func TestBoundOfWhatIsNotSaid(t *testing.T) {
	all := priced(t)
	for _, c := range []struct {
		model       string
		asked, want int64
	}{
		{"claude-opus-5-1", 0, 64000}, {"claude-opus-5-1", 100, 100}, {"claude-opus-5-1", -1, 64000}, {"claude-haiku", 0, DefaultMaxOutput}, {"claude-haiku", 1 << 62, 1 << 62},
	} {
		if got, _ := all.Bound("anthropic", c.model, Request{MaxOutput: c.asked}); got.OutputTokens != c.want {
			t.Errorf("%s, asked for %d: %d tokens, want %d", c.model, c.asked, got.OutputTokens, c.want)
		}
	}
	if got, _ := all.Bound("anthropic", "claude-haiku", Request{Body: math.MaxInt64, MaxOutput: math.MaxInt64}); got.InputTokens != math.MaxInt64 || got.Money != math.MaxInt64 {
		t.Errorf("countless: %+v", got)
	}
}

// TestBoundOfWhatBytesDoNotMeasure: an image of 300 bytes is thousands of tokens, and a document of a few as much as a model can read.
func TestBoundOfWhatBytesDoNotMeasure(t *testing.T) {
	all, err := table(t, "a: {small: {input: 1, output: 1, max_output: 9, max_input: 20000, image: 500}, other: {input: 1, output: 1}}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		of    Request
		want  int64
	}{
		{"other", Request{Body: 10}, 10 + Overhead},
		{"other", Request{Body: 10, Images: 2}, 10 + Overhead + 2*DefaultImage},
		{"other", Request{Body: 10, Unmeasured: true}, DefaultMaxInput},
		{"other", Request{Body: 2 << 20, Unmeasured: true}, 2<<20 + Overhead},
		{"other", Request{Body: 10, Images: 1 << 60}, math.MaxInt64},
		{"small", Request{Body: 10, Images: 2}, 10 + Overhead + 1000},
		{"small", Request{Body: 10, Unmeasured: true}, 20000},
		{"small", Request{Body: 30000}, 20000},
		{"without a price", Request{Body: 30000}, 30000 + Overhead},
		{"without a price", Request{Images: 1}, Overhead + DefaultImage},
		{"without a price", Request{Unmeasured: true}, DefaultMaxInput},
	} {
		if got, _ := all.Bound("a", c.model, c.of); got.InputTokens != c.want {
			t.Errorf("%s, %+v: %d tokens in, want %d", c.model, c.of, got.InputTokens, c.want)
		}
	}
	// What small can write says nothing of a model that the table does not have.
	if got, _ := all.Bound("a", "without a price", Request{}); got.OutputTokens != DefaultMaxOutput {
		t.Errorf("a model without a price writes %d tokens at most", got.OutputTokens)
	}
}

// TestTheLongWindow: it is reserved at the dearer of both prices, up to its own length, and it costs more only
// where the prompt is longer than the usual one. Where nothing is said of it, it is not there.
func TestTheLongWindow(t *testing.T) {
	all, err := table(t, `
a:
  sonnet-*: {input: 3, output: 15, max_input: 200000, long: {input: 6, output: 22.5, max_input: 1000000}}
  opus: {input: 5, output: 25, max_input: 200000}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		long          bool
		body          int64
		tokens, units int64
	}{
		{false, 900_000, 200_000, 200_000 * 6}, // what is written to a cache costs twice as much
		{true, 900_000, 908_192, 908_192 * 12},
		{true, 5_000_000, 1_000_000, 1_000_000 * 12},
		{true, 100_000, 108_192, 108_192 * 6},
	} {
		got, _ := all.Bound("a", "sonnet-4", Request{Body: c.body, MaxOutput: 10, Long: c.long})
		answer := int64(150)
		if c.long && c.tokens > 200_000 {
			answer = 225
		}
		if got.InputTokens != c.tokens || got.Money != budget.Unit/million*budget.Money(c.units+answer) {
			t.Errorf("%d bytes, long %v: %d tokens at %s", c.body, c.long, got.InputTokens, got.Money)
		}
	}
	for _, c := range []struct {
		long   bool
		tokens int64
		want   budget.Money
	}{
		{false, 300_000, 3 * 300_000}, {true, 200_000, 3 * 200_000}, {true, 200_001, 6 * 200_001},
	} {
		// What lies in a cache is a part of the prompt.
		got, _ := all.Cost("a", "sonnet-4", c.long, usage.Usage{Input: 1, CacheRead: c.tokens - 1})
		if got.Money != budget.Unit/million*c.want {
			t.Errorf("%d tokens, long %v: %s", c.tokens, c.long, got.Money)
		}
	}
	for model, want := range map[string]bool{"sonnet-4": true, "opus": false, "other": false} {
		if got := all.LongPriced("a", model); got != want {
			t.Errorf("%s has a long window: %v", model, got)
		}
	}
	if !all.LongPriced("without prices", "sonnet-4") {
		t.Error("where nothing has a price the long window needs one")
	}
}

// TestCostIsRoundedUp holds the arithmetic against numbers without an end.
func TestCostIsRoundedUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 20000 {
		tokens := random.Int64() >> random.IntN(63)
		price := budget.Money(random.Int64() >> random.IntN(63))
		if i == 0 {
			tokens, price = math.MaxInt64, math.MaxInt64
		}
		want := new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(price)))
		want.Add(want, big.NewInt(million-1)).Div(want, big.NewInt(million))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := cost(part{tokens, price}); int64(got) != want.Int64() {
			t.Fatalf("%d tokens at %d: %d, want %d", tokens, price, got, want)
		}
	}
	if got := cost(part{1, 1}, part{1, 1}); got != 1 {
		t.Errorf("two millionths: %d", got)
	}
	most := part{math.MaxInt64, math.MaxInt64}
	if got := cost(most, most, most, most, most); got != math.MaxInt64 {
		t.Errorf("more than there is: %d", got)
	}
}

func TestErrorsOfATable(t *testing.T) {
	for text, want := range map[string]string{
		"a: {m: {input: 1, ouptut: 2}}":                   "a.m.ouptut: there is no such word; output is near",
		"a: {m: {input: 1, output: 2, colour: 3}}":        "a.m.colour: there is no such word; there are input",
		"a: {m: {input: 1}}":                              "a.m: output is missing; write 0 for a free model",
		"a: {m: }":                                        "a.m: input is missing",
		"a: {m: 3}":                                       "a.m: it is not a map",
		"a: [m]":                                          "a: it is not a map",
		"a: {m: {input: -1, output: 2}}":                  "a.m.input:",
		"a: {m: {input: .nan, output: 2}}":                "a.m.input:",
		"a: {m: {input: 1e300, output: 2}}":               "a.m.input:",
		"a: {m: {input: 0.0000000001, output: 2}}":        "a.m.input:",
		"a: {m: {input: true, output: 2}}":                "a.m.input: true is not a number",
		"a: {m: {input: 1, output: 2, max_output: 0}}":    "a.m.max_output: 0 is not a number of tokens",
		"a: {m: {input: 1, output: 2, max_output: .5}}":   "a.m.max_output: 0.5 is not a number of tokens",
		"a: {m: {input: 1, output: 2, long: 3}}":          "a.m.long: it is not a map",
		"a: {m: {input: 1, output: 2, long: {input: 1}}}": "a.m.long: output is missing",
		"a: {m: {input: 1, output: 2, long: {input: 1, output: 1, long: {input: 1, output: 1}}}}": "a.m.long.long: a price has only one",
		"a: {'m*n': {input: 1, output: 2}}": "a.m*n: a star may only be the last letter",
	} {
		if _, err := table(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestATableOfJSON(t *testing.T) {
	for _, number := range []bool{true, false} {
		var tree any
		decoder := json.NewDecoder(strings.NewReader(`{"a":{"m":{"input":0.1,"output":123.456789}}}`))
		if number {
			decoder.UseNumber()
		}
		if err := decoder.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		all, err := Parse(tree)
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := all.Price("a", "m"); p.Input != 100_000_000 || p.Output != 123_456_789_000 {
			t.Errorf("numbers as texts %v: %+v", number, p)
		}
	}
	if all, err := Parse(nil); err != nil || len(all) != 0 {
		t.Errorf("no table: %v, %v", all, err)
	}
}
