package configs

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// tree is a mapping whose meaning another reader checks. This package checks only its form, and notes the line of each
// key.
type tree struct {
	to **yaml.Node
	of string // completes "is not a mapping from" in an error
}

func (v tree) read(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.problem(key, "%s is not a mapping from %s", kindOf(n), v.of)
		return
	}
	noteKeys(r, key, n)
	if len(n.Content) > 0 {
		*v.to = bare(n)
	}
}

func (v tree) write() *yaml.Node { return *v.to }

// noteKeys notes the line of every key below, under the name that the other reader uses, and reports a key that is
// there twice.
func noteKeys(r *report, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if name.Kind != yaml.ScalarNode {
			r.problem(key, "line %d: a key has to be a word", name.Line)
			continue
		}
		at := key + "." + name.Value
		before, twice := seen[name.Value]
		seen[name.Value], r.lines[at] = name.Line, name.Line
		if twice {
			r.problem(at, "is here twice; the first one is in line %d", before)
			continue
		}
		noteKeys(r, at, n.Content[i+1])
	}
}

// bare returns a copy of a node without lines and comments. It marks texts as texts, so that they are also written as
// texts.
func bare(n *yaml.Node) *yaml.Node {
	plain := &yaml.Node{Kind: n.Kind, Value: n.Value, Tag: n.ShortTag()}
	switch {
	case n.Kind != yaml.ScalarNode:
	case plain.Tag == "!!str":
		plain = argumentNode(n.Value)
	case plain.Tag == "!!null":
		plain.Value = "null"
	}
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			plain.Content = append(plain.Content, argumentNode(inner.Value)) // a key is always a text: a model may be called 1
			continue
		}
		plain.Content = append(plain.Content, bare(inner))
	}
	if n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, func(inner *yaml.Node) bool { return inner.Kind != yaml.ScalarNode }) {
		plain.Style = yaml.FlowStyle
	}
	return plain
}
