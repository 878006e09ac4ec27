package configs

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// size is a number of bytes: 512MiB, 1GB, 1.5GiB, or plain digits.
type size struct {
	to       *int64
	min, max int64
}

// units are ordered by size, the largest first. The binary units come before the decimal ones because limits are
// usually written in them.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
	{"", 1},
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)$`)

func (v size) read(r *report, key string, n *yaml.Node) {
	bytes, ok := parseSize(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || !ok:
		r.problem(key, "%s is not a size; write it as 512MiB, 1GB or a plain number of bytes", kindOf(n))
	case bytes < v.min || bytes > v.max:
		r.problem(key, "%s is out of range; allowed are %s to %s", n.Value, showSize(v.min), showSize(v.max))
	default:
		*v.to = bytes
	}
}

func (v size) write() *yaml.Node { return plainNode(showSize(*v.to)) }

// parseSize returns the exact number of bytes and cuts off fractions of a byte. It does not use floating-point numbers,
// because they cannot hold 1.001KB exactly.
func parseSize(text string) (int64, bool) {
	form := sizeForm.FindStringSubmatch(text)
	if form == nil {
		return 0, false
	}
	amount, ok := new(big.Rat).SetString(form[1])
	for _, unit := range units {
		if !ok || unit.name != form[2] {
			continue
		}
		amount.Mul(amount, new(big.Rat).SetInt64(unit.bytes))
		bytes := new(big.Int).Quo(amount.Num(), amount.Denom())
		return bytes.Int64(), bytes.Cmp(big.NewInt(math.MaxInt64/2)) <= 0
	}
	return 0, false
}

// showSize writes a size in the first of the units that divides it without remainder.
func showSize(bytes int64) string {
	for _, unit := range units {
		if unit.name != "" && unit.name != "B" && bytes != 0 && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

// span is a length of time: 90s, 5m, 1h30m, 30d, or plain digits for seconds.
type span struct {
	to       *time.Duration
	min, max time.Duration
}

func (v span) read(r *report, key string, n *yaml.Node) {
	d, ok := parseSpan(n)
	switch {
	case !ok:
		r.problem(key, "%s is not a length of time; write it as 90s, 5m, 1h30m, 30d or a plain number of seconds", kindOf(n))
	case d < v.min || d > v.max:
		r.problem(key, "%s is out of range; allowed are %s to %s", n.Value, showSpan(v.min), showSpan(v.max))
	default:
		*v.to = d
	}
}

func (v span) write() *yaml.Node { return plainNode(showSpan(*v.to)) }

func parseSpan(n *yaml.Node) (time.Duration, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	if seconds, err := strconv.ParseInt(n.Value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if days, err := strconv.ParseUint(strings.TrimSuffix(n.Value, "d"), 10, 16); err == nil {
		return time.Duration(days) * day, true
	}
	d, err := time.ParseDuration(n.Value)
	return d, err == nil
}

var zeroParts = regexp.MustCompile(`([a-z])0[ms]`)

// showSpan writes a length of time without the parts that are zero: 1h and not 1h0m0s. From two days on it counts in
// days, if they are whole.
func showSpan(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return zeroParts.ReplaceAllString(zeroParts.ReplaceAllString(d.String(), "$1"), "$1")
}

// kindOf describes a node for an error.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return fmt.Sprintf("%.80q", n.Value)
	default:
		return fmt.Sprintf("%.80s", n.Value)
	}
}

// textOf reads a text. A word that YAML takes for something else, such as a number, must be in quotes.
func textOf(r *report, key string, n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		r.problem(key, "%s is not a text", kindOf(n))
		return "", false
	}
	if n.ShortTag() != "!!str" {
		r.problem(key, "%s is not a text; put it in quotes", kindOf(n))
		return "", false
	}
	return n.Value, true
}

// argumentNode returns a node for any text, also for an empty one.
func argumentNode(s string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(s)
	if slices.Contains([]string{"", "y", "n", "yes", "no", "on", "off"}, s) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// textNode returns a node for a text, or nil if the text is empty.
func textNode(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	return argumentNode(s)
}

func plainNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
