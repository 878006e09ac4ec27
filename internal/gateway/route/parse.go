package route

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"torno/internal/nearest"
)

// The defaults of a route.
const (
	defaultMaxBody   = 32 << 20
	defaultMaxHeader = 64 << 10
	defaultSilence   = 10 * time.Minute // a model may think for minutes between two events
)

// Problem is a mistake in the operator's text.
type Problem struct{ Key, What string }

// Error lists all mistakes.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.Key+": "+p.What)
	}
	return strings.Join(lines, "\n")
}

// ParseAll reads all routes, sorted by name.
func ParseAll(said map[string]any) ([]*Route, error) {
	var all []*Route
	var wrong Error
	for _, name := range slices.Sorted(maps.Keys(said)) {
		keys, ok := said[name].(map[string]any)
		if !ok {
			wrong.Problems = append(wrong.Problems, Problem{name, "is not a list of keys and values"})
			continue
		}
		p := newParser(name, keys)
		all = append(all, p.route(name))
		wrong.Problems = append(wrong.Problems, p.problems...)
	}
	if len(wrong.Problems) > 0 {
		return nil, &wrong
	}
	return all, nil
}

// Parse reads the operator's text of one route, on top of its preset. The result is complete; the error is an *Error.
// The values have the types that a reader of YAML or JSON produces: strings, numbers, bools, []any, map[string]any.
func Parse(name string, said map[string]any) (*Route, error) {
	p := newParser(name, said)
	r := p.route(name)
	if len(p.problems) > 0 {
		return nil, &Error{p.problems}
	}
	return r, nil
}

func (p *parser) route(name string) *Route {
	if !isName(name) {
		p.problem("", "a name has letters, digits, - and _, at most 64")
	}
	p.underlay()
	r := &Route{Name: name}
	r.Preset, _ = p.keys["preset"].(string)
	r.API = API(p.word("api", apiWords()))
	r.Upstream = p.upstream()
	r.Prefix = p.text("prefix")
	if r.Prefix != "" {
		if _, err := parsePattern(r.Prefix); err != nil || strings.ContainsAny(r.Prefix, "*{") || strings.HasSuffix(r.Prefix, "/") {
			p.problem("prefix", "%s is not a path without a slash at its end", short(r.Prefix))
		}
	}
	r.Allow = p.rules()
	r.Models = p.models()
	r.Headers, r.Set = p.headers(), p.set()
	r.Reach = p.texts("reach")
	r.AskUsage = p.truth("ask_usage")
	r.Credential = p.credential()
	r.MaxBody = p.size("max_body", defaultMaxBody)
	r.MaxHeader = p.size("max_header", defaultMaxHeader)
	r.Silence = p.duration("silence", defaultSilence)
	r.Private = p.truth("private")
	r.Roots, r.Pins = p.roots(), p.pins()
	r.Cache, r.Files = p.cache(), strings.TrimSuffix(p.text("files"), "/")
	p.check(r)
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return r
}

// check reports missing keys, keys that do not go together, and keys that no route has.
func (p *parser) check(r *Route) {
	for _, key := range slices.Sorted(maps.Keys(p.keys)) {
		if !slices.Contains(routeKeys, key) {
			p.problem(key, "no route has this%s", suggest(key, routeKeys))
		}
	}
	if len(r.Allow) == 0 {
		p.problem("allow", "is missing or empty: nothing could pass; write for example \"POST /v1/messages\"")
	}
	if c := r.Credential; c.Kind != "" && c.Kind != "aws" && c.Header == "" {
		p.problem("header", "is missing: there is a credential and no header to carry it; write for example \"authorization\"")
	}
	if at, err := url.Parse(r.Files); r.Files != "" && (err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http") {
		p.problem("files", "%s is not an address such as \"https://files.example.com\"", short(r.Files))
	}
	if said, own := p.keys["cache"]; own && r.API != Plain && said != nil {
		p.problem("cache", "only files of registries (api: plain) are kept")
	}
	if r.AskUsage && r.API != OpenAIChat {
		p.problem("ask_usage", "only openai-chat needs this")
	}
}

func apiWords() []string {
	var words []string
	for _, a := range apis {
		words = append(words, string(a))
	}
	return words
}

func suggest(word string, known []string) string {
	if near := nearest.Word(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; known are " + strings.Join(known, ", ")
}

// upstream returns the base of the API. It has to be https, except that the operator may allow http to one host, by its
// name.
func (p *parser) upstream() *url.URL {
	text, plain := p.text("upstream"), p.text("http_to")
	if text == "" {
		p.problem("upstream", "is missing; write the base that the vendor documents, for example \"https://api.example.com/v1\"")
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Fragment != "" || u.User != nil || u.Hostname() == "":
		p.problem("upstream", "%s is not an address such as \"https://api.example.com/v1\" (without a user or a fragment)", short(text))
		return nil
	case u.Scheme == "http" && u.Hostname() != plain:
		p.problem("upstream", "http sends the credential for everybody to read; write https, or http_to: %s if you mean that", u.Hostname())
		return nil
	case u.Scheme != "https" && u.Scheme != "http":
		p.problem("upstream", "%s is not https", short(u.Scheme))
		return nil
	}
	if segments, err := splitPath("/" + strings.Trim(u.EscapedPath(), "/")); err != nil || slices.Contains(segments[:len(segments)-1], "") {
		p.problem("upstream", "%s: the path is not a plain one", short(text))
		return nil
	}
	return u
}
