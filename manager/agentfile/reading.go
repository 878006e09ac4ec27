package agentfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"torno/internal/nearest"
)

const (
	maxText  = 16 << 10 // in one value that is not a schema
	maxItems = 256      // in one list
	maxTime  = 24 * time.Hour
)

// Lookup returns the value of an environment variable, or "" if the variable is not set.
type Lookup func(name string) string

// reading is one file on its way to an Agent.
type reading struct {
	agent    *Agent
	lookup   Lookup
	expanded int // bytes that variables have added so far
	problems []error
}

// reader reads one value into the agent. At is the whole name of its key, such as permissions.allow.
type reader func(r *reading, at string, n *yaml.Node)

func (r *reading) refuse(n *yaml.Node, at, format string, args ...any) {
	r.problems = append(r.problems, &Problem{Path: r.agent.Path, Line: n.Line, Key: plain(at), Text: fmt.Sprintf(format, args...)})
}

// whole refuses the file in Jarvis's own words.
func (r *reading) whole(format string, args ...any) {
	r.problems = append(r.problems, &Problem{Path: r.agent.Path, Text: fmt.Sprintf(format, args...)})
}

// mapping reads a value that consists of known keys.
func (r *reading) mapping(at string, n *yaml.Node, keys map[string]reader) {
	if n.Kind != yaml.MappingNode {
		r.refuse(n, at, "must have keys of its own: %s", strings.Join(sortedKeys(keys), ", "))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := at + key.Value
		read, known := keys[key.Value]
		switch {
		case known:
			read(r, name, value)
		case danger(key.Value) != "":
			r.refuse(key, name, "%s; remove the key", danger(key.Value))
		default:
			r.warn(key, name, keys)
		}
	}
}

func (r *reading) warn(key *yaml.Node, at string, keys map[string]reader) {
	text := "is not known and changes nothing"
	if word := nearest.Word(key.Value, sortedKeys(keys)); word != "" {
		text += fmt.Sprintf("; did you mean %s?", word)
	}
	r.agent.Warnings = append(r.agent.Warnings, Warning{Path: r.agent.Path, Line: key.Line, Key: plain(at), Text: text})
}

func (r *reading) notGiven(at, why string) {
	r.agent.NotGiven = append(r.agent.NotGiven, at+": "+why)
}

func (r *reading) text(at string, n *yaml.Node) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		r.refuse(n, at, "must be a text; quote it if it looks like a number or a truth value")
	case len(n.Value) > maxText:
		r.refuse(n, at, "is longer than %d KiB", maxText>>10)
	default:
		return n.Value, true
	}
	return "", false
}

func (r *reading) truth(at string, n *yaml.Node) bool {
	var value bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
		r.refuse(n, at, "must be true or false")
		return false
	}
	return value
}

func (r *reading) milliseconds(at string, n *yaml.Node) time.Duration {
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || value < 1 || value > maxTime.Milliseconds() {
		r.refuse(n, at, "must be a whole number of milliseconds from 1 to %d", maxTime.Milliseconds())
		return 0
	}
	return time.Duration(value) * time.Millisecond
}

// items returns the values of a list.
func (r *reading) items(at string, n *yaml.Node) []*yaml.Node {
	switch {
	case n.Kind != yaml.SequenceNode:
		r.refuse(n, at, "must be a list, such as [one, two]")
		return nil
	case len(n.Content) > maxItems:
		r.refuse(n, at, "has more than %d values", maxItems)
		return nil
	}
	return n.Content
}

// list reads a list of texts and refuses each text that parse does not accept. It never returns nil.
func (r *reading) list(at string, n *yaml.Node, parse func(string) error) []string {
	items := r.items(at, n)
	all := []string{}
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", at, i)
		text, ok := r.text(place, item)
		if !ok {
			continue
		}
		if err := parse(text); err != nil {
			r.refuse(item, place, "%v", err)
			continue
		}
		all = append(all, text)
	}
	return all
}

func sortedKeys(keys map[string]reader) []string { return slices.Sorted(maps.Keys(keys)) }

// plain returns a key as an error can show it: with escapes for characters that a terminal or a model would not show.
func plain(at string) string {
	quoted := quote(at)
	if quoted[1:len(quoted)-1] == at {
		return at
	}
	return quoted
}
