package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rule describes requests that a route lets through. The operator writes
//
//	POST /v1/messages?beta=true|
//	GET,HEAD /simple/*/
//	GET /**/info/refs?service=git-upload-pack
//	POST /model/{model}/invoke
//
// "*" stands for one or more characters of one segment, and "**" for one or more segments. {model} stands for the name
// of a model, and {package} for the name of a package. These two may hold an encoded slash, a package's name only after
// its scope (@scope/name). After "?" come the parameters that a query may have, each with its possible values, if they
// are limited ("a|b"). Then one of the values has to be there, unless the list ends with a "|".
type Rule struct {
	text    string
	methods []string
	pattern pattern
	query   []parameter
}

// parameter is a parameter that a query may have.
type parameter struct {
	name     string
	values   []string // empty: any value
	optional bool
}

// pattern is a path with wildcards, segment by segment.
type pattern []glob

// glob is one segment of a pattern.
type glob struct {
	before, after string
	wild          wildcard
}

type wildcard int

const (
	none   wildcard = iota // before is the whole segment
	within                 // *
	rest                   // **
	model                  // {model}
	named                  // {package}
)

func (r Rule) String() string { return r.text }

var knownMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// parseRule reads a rule as the operator writes it.
func parseRule(text string) (Rule, error) {
	methods, path, ok := strings.Cut(text, " ")
	if !ok {
		return Rule{}, fmt.Errorf("%s has no method; write for example \"GET /v1/models\"", short(text))
	}
	r := Rule{text: text, methods: strings.Split(methods, ",")}
	for _, m := range r.methods {
		if !slices.Contains(knownMethods, m) {
			return Rule{}, fmt.Errorf("%s is not a method; known are %s", short(m), strings.Join(knownMethods, ", "))
		}
	}
	path, query, _ := strings.Cut(path, "?")
	var err error
	if r.pattern, err = parsePattern(path); err != nil {
		return Rule{}, fmt.Errorf("%s: %w", short(path), err)
	}
	for part := range strings.SplitSeq(query, "&") {
		name, values, limited := strings.Cut(part, "=")
		if name == "" && part == query {
			break
		}
		p := parameter{name: name}
		if limited {
			values, p.optional = strings.CutSuffix(values, "|")
			p.values = strings.Split(values, "|")
		}
		if escape(name, "-._~$") != name || name == "" {
			return Rule{}, fmt.Errorf("%s is not the name of a parameter", short(name))
		}
		r.query = append(r.query, p)
	}
	return r, nil
}

func parsePattern(path string) (pattern, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("a path must begin with /")
	}
	var p pattern
	wilder := 0
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "" && i < len(segments)-1 {
			return nil, errors.New("a segment is empty")
		}
		g := parseGlob(segment)
		if literal, err := decodeSegment(g.before + g.after); err != nil || literal != g.before+g.after || strings.Contains(literal, "*") {
			return nil, fmt.Errorf("%s is not a segment with at most one of *, ** (alone), {model}, {package}", short(segment))
		}
		if g.wild == rest {
			wilder++
		}
		p = append(p, g)
	}
	if wilder > 1 {
		return nil, errors.New("there is more than one **")
	}
	return p, nil
}

func parseGlob(segment string) glob {
	if segment == "**" {
		return glob{wild: rest}
	}
	for _, w := range []struct {
		word string
		wild wildcard
	}{{"{model}", model}, {"{package}", named}, {"*", within}} {
		if before, after, ok := strings.Cut(segment, w.word); ok {
			return glob{before, after, w.wild}
		}
	}
	return glob{before: segment}
}

// takes reports whether one segment fits.
func (g glob) takes(segment string) bool {
	if g.wild == none {
		return segment == g.before
	}
	middle, ok := g.middle(segment)
	if !ok || middle == "" {
		return false
	}
	switch g.wild {
	case model:
		return true
	case named: // a registry may serve other things below a package's name
		scope, name, scoped := strings.Cut(middle, "/")
		return !scoped || len(scope) > 1 && scope[0] == '@' && !strings.Contains(name, "/")
	}
	return !strings.Contains(segment, "/")
}

// middle returns the text in the wildcard's place.
func (g glob) middle(segment string) (string, bool) {
	if len(segment) < len(g.before)+len(g.after) {
		return "", false
	}
	middle, ok := strings.CutPrefix(segment, g.before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(middle, g.after)
}

// match returns the glob that fits each segment of a path, or nil if the path does not fit the pattern.
func (p pattern) match(path []string) []glob {
	at := slices.IndexFunc(p, func(g glob) bool { return g.wild == rest })
	if at < 0 && len(path) != len(p) || len(path) < len(p) {
		return nil
	}
	over := make([]glob, 0, len(path))
	for i, g := range p {
		over = append(over, g)
		for i == at && len(over) < len(path)-(len(p)-1-i) {
			over = append(over, g)
		}
	}
	for i, g := range over {
		if !g.takes(path[i]) {
			return nil
		}
	}
	return over
}
