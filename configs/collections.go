package configs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"torno/internal/nearest"
	"torno/sandbox/compile"
)

// field is a key of an object, with its value.
type field struct {
	key   string
	value value
}

// object is a mapping with known keys.
type object []field

func (o object) read(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.problem(key, "%s is not a mapping with the keys %s", kindOf(n), strings.Join(o.keys(), ", "))
		return
	}
	eachPair(r, key, n, func(name, at string, inner *yaml.Node) {
		i := slices.IndexFunc(o, func(f field) bool { return f.key == name })
		if i < 0 {
			r.problem(at, "is not a known key%s", suggest(name, o.keys()))
			if near := nearest.Word(name, o.keys()); near != "" {
				r.meant = append(r.meant, join(key, near))
			}
			return
		}
		o[i].value.read(r, at, inner)
	})
}

func (o object) keys() (keys []string) {
	for _, f := range o {
		keys = append(keys, f.key)
	}
	return keys
}

func (o object) write() *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range o {
		if inner := f.value.write(); inner != nil {
			node.Content = append(node.Content, plainNode(f.key), inner)
		}
	}
	if len(node.Content) == 0 {
		return nil
	}
	return node
}

// eachPair calls each for every pair of a mapping. It notes the line of each key, and reports a key that is there
// twice.
func eachPair(r *report, key string, n *yaml.Node, each func(name, at string, inner *yaml.Node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, at := n.Content[i], join(key, n.Content[i].Value)
		if name.Kind != yaml.ScalarNode {
			r.problem(key, "line %d: a key has to be a word", name.Line)
			continue
		}
		if before, twice := r.lines[at]; twice {
			r.lines[at] = name.Line
			r.problem(at, "is here twice; the first one is in line %d", before)
			continue
		}
		r.lines[at] = name.Line
		each(name.Value, at, n.Content[i+1])
	}
}

// join appends a name to a key. It quotes a name that could pass for several keys, such as one with a dot.
func join(key, name string) string {
	if name == "" || strings.ContainsAny(name, ".[\n") || len(name) > 80 {
		name = fmt.Sprintf("%.80q", name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// list is a sequence of values of one kind.
type list[T any] struct {
	to   *[]T
	max  int
	item func(*T) value
	hint string // ends the error about a value that is no list: how to write one
}

func (v list[T]) read(r *report, key string, n *yaml.Node) {
	switch {
	case n.Kind != yaml.SequenceNode:
		r.problem(key, "%s is not a list%s", kindOf(n), v.hint)
		return
	case len(n.Content) > v.max:
		r.problem(key, "has %d entries, at most %d are allowed", len(n.Content), v.max)
		return
	}
	*v.to = slices.Grow([]T(nil), len(n.Content))[:len(n.Content)] // an empty list is nil, as if the key were not there
	for i, inner := range n.Content {
		at := fmt.Sprintf("%s[%d]", key, i)
		r.lines[at] = inner.Line
		v.item(&(*v.to)[i]).read(r, at, inner)
	}
}

func (v list[T]) write() *yaml.Node {
	if len(*v.to) == 0 {
		return nil
	}
	node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range *v.to {
		inner := v.item(&(*v.to)[i]).write()
		if inner == nil {
			inner = argumentNode("")
		}
		if inner.Kind == yaml.MappingNode {
			node.Style = 0
		}
		node.Content = append(node.Content, inner)
	}
	return node
}

// nameForm matches the names of profiles and outboxes. It is narrow because names become labels and lines of a journal.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// named is a mapping from names to things. It keeps the order of the file.
type named[T any] struct {
	to   *[]T
	make func(name string) T
	name func(T) string
	body func(*T) object
}

const maxNamed = 1000

func (v named[T]) read(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.problem(key, "%s is not a mapping from names to their settings", kindOf(n))
		return
	}
	if entries := len(n.Content) / 2; entries > maxNamed {
		r.problem(key, "has %d entries, at most %d are allowed", entries, maxNamed)
		return
	}
	eachPair(r, key, n, func(name, at string, inner *yaml.Node) {
		if !nameForm.MatchString(name) {
			r.problem(at, "is no name; use up to 63 of a-z, 0-9, _ and -, with a letter or a digit first")
			return
		}
		thing := v.make(name)
		v.body(&thing).read(r, at, inner)
		*v.to = append(*v.to, thing)
	})
}

func (v named[T]) write() *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for i := range *v.to {
		thing := &(*v.to)[i]
		node.Content = append(node.Content, argumentNode(v.name(*thing)), v.body(thing).write())
	}
	if len(node.Content) == 0 {
		return nil
	}
	return node
}

// literals is a mapping from environment variables to their values.
type literals struct{ to *map[string]string }

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

func (v literals) read(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.problem(key, "%s is not a mapping from names of variables to texts", kindOf(n))
		return
	}
	*v.to = nil
	if len(n.Content) > 0 {
		*v.to = make(map[string]string)
	}
	eachPair(r, key, n, func(name, at string, inner *yaml.Node) {
		switch {
		case !variableForm.MatchString(name):
			r.problem(at, "is not the name of a variable; use letters, digits and _, with no digit first")
		case inner.Kind != yaml.ScalarNode || inner.ShortTag() == "!!null":
			r.problem(at, "%s is not a text", kindOf(inner))
		case len(name)+1+len(inner.Value) > compile.MaxArgument:
			r.problem(at, "is %d bytes long with its name, at most %d are allowed", len(name)+1+len(inner.Value), compile.MaxArgument)
		case strings.ContainsRune(inner.Value, 0):
			r.problem(at, "has a zero byte, which no variable can hold")
		default:
			(*v.to)[name] = inner.Value
		}
	})
}

func (v literals) write() *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(*v.to)) {
		node.Content = append(node.Content, argumentNode(name), argumentNode((*v.to)[name]))
	}
	if len(node.Content) == 0 {
		return nil
	}
	return node
}
