package configs

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"torno/internal/nearest"
	"torno/internal/paths"
	"torno/sandbox/compile"
)

// value is one value of a configuration. It reads itself from YAML and writes itself back.
type value interface {
	// read takes the value from the node at this key, and reports mistakes in it.
	read(r *report, key string, n *yaml.Node)
	// write returns nil if the key is to be left out.
	write() *yaml.Node
}

// text is a sentence or a name, on one line.
type text struct {
	to  *string
	max int
}

func (v text) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	switch {
	case !ok:
	case len(s) > v.max:
		r.problem(key, "is %d bytes long, at most %d are allowed", len(s), v.max)
	case strings.ContainsFunc(s, unicode.IsControl):
		r.problem(key, "has a line break or another control character")
	default:
		*v.to = s
	}
}

func (v text) write() *yaml.Node { return textNode(*v.to) }

// argument is one element of a command: any text that is not too long.
type argument struct{ to *string }

func (v argument) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	switch {
	case !ok:
	case len(s) > compile.MaxArgument:
		r.problem(key, "is %d bytes long, at most %d are allowed", len(s), compile.MaxArgument)
	case strings.ContainsRune(s, 0):
		r.problem(key, "has a zero byte, which no argument can hold")
	default:
		*v.to = s
	}
}

func (v argument) write() *yaml.Node { return argumentNode(*v.to) }

// absPath is an absolute path.
type absPath struct{ to *string }

func (v absPath) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	if !ok {
		return
	}
	tidy, err := paths.Tidy(s)
	switch {
	case err != nil:
		r.problem(key, "%q is not a path: %v", s, err)
	case strings.HasPrefix(s, "~"):
		r.problem(key, "%q is not absolute: ~ is not expanded here, write the whole path", s)
	case tidy[0] != '/':
		r.problem(key, "%q is not absolute: begin it with /", s)
	default:
		*v.to = tidy
	}
}

func (v absPath) write() *yaml.Node { return textNode(*v.to) }

// loopback is an address with a port of this machine that no other machine can reach.
type loopback struct{ to *string }

func (v loopback) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	if !ok {
		return
	}
	at, err := netip.ParseAddrPort(s)
	switch {
	case err != nil || at.Port() == 0 || at.Addr().Zone() != "":
		r.problem(key, "%q is no address with a port, such as 127.0.0.1:9464", s)
	case !at.Addr().IsLoopback():
		r.problem(key, "%q can be reached from other machines: name a loopback address, such as 127.0.0.1:9464, and let a proxy of yours control the access", s)
	default:
		*v.to = at.String()
	}
}

func (v loopback) write() *yaml.Node { return textNode(*v.to) }

func oneOf[T ~string](to *T, allowed ...T) value { return choice[T]{to, allowed} }

// choice is one of a few words.
type choice[T ~string] struct {
	to      *T
	allowed []T
}

func (v choice[T]) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	if !ok {
		return
	}
	if !slices.Contains(v.allowed, T(s)) {
		r.problem(key, "%q is not allowed%s", s, suggest(s, v.allowed))
		return
	}
	*v.to = T(s)
}

func (v choice[T]) write() *yaml.Node { return textNode(string(*v.to)) }

// suggest names the known word nearest to the given one, or all known words if none is near.
func suggest[T ~string](word string, known []T) string {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	if near := nearest.Word(word, words); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return "; allowed are " + strings.Join(words, ", ")
}

// number is a whole number within bounds.
type number[T ~int | ~int64 | ~uint32 | ~uint16] struct {
	to       *T
	min, max int64
}

func (v number[T]) read(r *report, key string, n *yaml.Node) {
	i, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case n.ShortTag() != "!!int" || err != nil:
		r.problem(key, "%s is not a whole number%s", kindOf(n), between(v.min, v.max))
	case i < v.min || i > v.max:
		r.problem(key, "%d is out of range%s", i, between(v.min, v.max))
	default:
		*v.to = T(i)
	}
}

func (v number[T]) write() *yaml.Node { return plainNode(strconv.FormatInt(int64(*v.to), 10)) }

func between(min, max int64) string { return fmt.Sprintf("; allowed are %d to %d", min, max) }

// boolean is true or false.
type boolean struct{ to *bool }

func (v boolean) read(r *report, key string, n *yaml.Node) {
	if n.ShortTag() != "!!bool" {
		r.problem(key, "%s is neither true nor false", kindOf(n))
		return
	}
	*v.to = n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
}

func (v boolean) write() *yaml.Node { return plainNode(strconv.FormatBool(*v.to)) }

// processors is a number of processors, stored in thousandths.
type processors struct{ to *int64 }

const maxProcessors = 1024

func (v processors) read(r *report, key string, n *yaml.Node) {
	f, err := strconv.ParseFloat(n.Value, 64)
	tag := n.ShortTag()
	switch {
	case tag != "!!int" && tag != "!!float" || err != nil:
		r.problem(key, "%s is not a number; allowed are 0.01 to %d", kindOf(n), maxProcessors)
	case !(f >= 0.01 && f <= maxProcessors):
		r.problem(key, "%s is out of range; allowed are 0.01 to %d", n.Value, maxProcessors)
	default:
		*v.to = int64(math.Round(f * 1000))
	}
}

func (v processors) write() *yaml.Node {
	return plainNode(strconv.FormatFloat(float64(*v.to)/1000, 'f', -1, 64))
}

// mask is a umask, in octal digits. It may not take rights from the owner, because a child works on its own files.
type mask struct{ to *int }

func (v mask) read(r *report, key string, n *yaml.Node) {
	bits, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "0o"), 8, 16)
	if n.Kind != yaml.ScalarNode || err != nil || bits > 0o77 {
		r.problem(key, `%s is not a umask; allowed are "000" to "077"`, kindOf(n))
		return
	}
	*v.to = int(bits)
}

func (v mask) write() *yaml.Node { return textNode(fmt.Sprintf("%03o", *v.to)) }

// poolSize is off, auto or a number.
type poolSize struct{ to *int }

const (
	poolOff  = "off"
	poolAuto = "auto"
)

func (v poolSize) read(r *report, key string, n *yaml.Node) {
	size, err := strconv.Atoi(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.problem(key, "%s is no size of a pool; write off, auto or a number", kindOf(n))
	case n.Value == poolOff:
		*v.to = 0
	case n.Value == poolAuto:
		*v.to = PoolAuto
	case err != nil || size < 1 || size > maxPool:
		r.problem(key, "%s is no size of a pool; allowed are off, auto and 1 to %d", kindOf(n), maxPool)
	default:
		*v.to = size
	}
}

func (v poolSize) write() *yaml.Node {
	switch *v.to {
	case 0:
		return textNode(poolOff)
	case PoolAuto:
		return textNode(poolAuto)
	}
	return plainNode(strconv.Itoa(*v.to))
}
