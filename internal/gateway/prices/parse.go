package prices

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"torno/internal/gateway/budget"
	"torno/internal/nearest"
)

// Error says which mistake is in a table, and where.
type Error struct {
	Key  string // in the form route.model.field
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("prices: %s: %s", e.Key, e.Text) }

// fields are the words of a price: first amounts of money, from index countsFrom on numbers of tokens, and last the
// price in the long window.
var fields = []string{
	"input", "output", "cache_read", "cache_write", "cache_write_hour", "max_output", "max_input", "image",
	"long",
}

const countsFrom = 5

// Parse reads a table from parsed YAML or JSON: maps, texts and numbers.
func Parse(tree any) (Table, error) {
	table := Table{}
	err := each(tree, "", "a route", func(route, key string, models any) error {
		table[route] = map[string]Price{}
		return each(models, key, "a model", func(model, key string, price any) error {
			if strings.Contains(strings.TrimSuffix(model, "*"), "*") {
				return &Error{key, "a star may only be the last letter"}
			}
			p, err := parsePrice(price, key)
			table[route][model] = p
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return table, nil
}

// each calls do for the entries of a map, sorted by key.
func each(tree any, key, of string, do func(name, key string, value any) error) error {
	if tree == nil {
		return nil
	}
	entries, ok := tree.(map[string]any)
	if !ok {
		return &Error{key, "it is not a map with " + of + " for each key"}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := do(name, strings.TrimPrefix(key+"."+name, "."), entries[name]); err != nil {
			return err
		}
	}
	return nil
}

func parsePrice(tree any, key string) (Price, error) {
	said := map[string]budget.Money{}
	counts := map[string]int64{}
	var long *Price
	err := each(tree, key, "a price", func(field, key string, value any) error {
		text, ok := decimal(value)
		switch {
		case field == "long":
			p, err := parsePrice(value, key)
			if err == nil && p.Long != nil {
				err = &Error{key + ".long", "a price has only one long window; remove this one"}
			}
			long = &p
			return err
		case !slices.Contains(fields, field):
			return &Error{key, unknown(field)}
		case !ok:
			return &Error{key, fmt.Sprintf("%v is not a number", value)}
		case slices.Contains(fields[countsFrom:], field):
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n <= 0 {
				return &Error{key, text + " is not a number of tokens above 0"}
			}
			counts[field] = n
			return nil
		}
		money, err := budget.ParseMoney(text)
		if err != nil {
			return &Error{key, err.Error()}
		}
		said[field] = money
		return nil
	})
	if err != nil {
		return Price{}, err
	}
	for _, field := range fields[:2] {
		if _, ok := said[field]; !ok {
			return Price{}, &Error{key, field + " is missing; write 0 for a free model"}
		}
	}
	p := filled(said, counts)
	if long != nil {
		long.MaxOutput, long.Image = cmp.Or(long.MaxOutput, p.MaxOutput), cmp.Or(long.Image, p.Image)
		p.Long = long
	}
	return p, nil
}

func unknown(field string) string {
	if word := nearest.Word(field, fields); word != "" {
		return "there is no such word; " + word + " is near"
	}
	return "there is no such word; there are " + strings.Join(fields, ", ")
}

// filled returns a price, and uses the usual maximum for each absent field.
func filled(said map[string]budget.Money, counts map[string]int64) Price {
	or := func(field string, other budget.Money) budget.Money {
		if m, ok := said[field]; ok {
			return m
		}
		return other
	}
	input := said["input"]
	twice := budget.Money(add(int64(input), int64(input)))
	write := or("cache_write", twice)
	return Price{
		Input:          input,
		Output:         said["output"],
		CacheRead:      or("cache_read", input),
		CacheWrite:     write,
		CacheWriteHour: or("cache_write_hour", max(write, twice)),
		MaxOutput:      counts["max_output"],
		MaxInput:       counts["max_input"],
		Image:          counts["image"],
	}
}

// decimal returns a number as the operator wrote it.
func decimal(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}
