package route

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

var routeKeys = []string{
	"allow", "api", "ask_usage", "cache", "credential", "files", "header", "header_prefix", "headers", "http_to", "max_body", "max_header", "models", "pins",
	"prefix", "preset", "private", "reach", "roots", "set", "silence", "upstream",
}

// parser reads the keys of one route, and collects the mistakes.
type parser struct {
	at       string
	keys     map[string]any
	problems []Problem
}

func newParser(at string, keys map[string]any) *parser {
	p := &parser{at: at, keys: make(map[string]any)}
	maps.Copy(p.keys, keys)
	return p
}

func (p *parser) problem(key, format string, args ...any) {
	p.problems = append(p.problems, Problem{strings.TrimSuffix(p.at+"."+key, "."), fmt.Sprintf(format, args...)})
}

// underlay fills in the preset's keys that the operator did not write. If the operator wrote another upstream, the
// preset's http_to and private do not apply.
func (p *parser) underlay() {
	if _, ok := p.keys["preset"]; !ok {
		return
	}
	name := p.word("preset", presetNames())
	below := presets[name]
	_, moved := p.keys["upstream"]
	p.inRegion(name)
	for key, value := range below {
		if _, said := p.keys[key]; !said && (!moved || key != "http_to" && key != "private") {
			p.keys[key] = value
		}
	}
}

// inRegion sets Bedrock's upstream to the region of its credential.
func (p *parser) inRegion(name string) {
	credential, _ := p.keys["credential"].(map[string]any)
	keys, _ := credential["aws"].(map[string]any)
	region, _ := keys["region"].(string)
	if _, moved := p.keys["upstream"]; name == "bedrock" && !moved && isName(region) {
		p.keys["upstream"] = "https://bedrock-runtime." + region + ".amazonaws.com"
	}
}

func (p *parser) text(key string) string {
	value, said := p.keys[key]
	text, ok := value.(string)
	if said && !ok {
		p.problem(key, "is not a text")
	}
	return text
}

func (p *parser) word(key string, known []string) string {
	if _, said := p.keys[key]; !said {
		p.problem(key, "is missing; known are %s", strings.Join(known, ", "))
		return ""
	}
	word := p.text(key)
	if !slices.Contains(known, word) {
		p.problem(key, "there is no %s%s", short(word), suggest(word, known))
	}
	return word
}

func (p *parser) truth(key string) bool {
	value, said := p.keys[key]
	truth, ok := value.(bool)
	if said && !ok {
		p.problem(key, "is neither true nor false")
	}
	return truth
}

func (p *parser) texts(key string) []string {
	value, said := p.keys[key]
	if !said {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		p.problem(key, "is not a list")
		return nil
	}
	var texts []string
	for i, item := range list {
		text, ok := item.(string)
		if !ok || text == "" {
			p.problem(fmt.Sprintf("%s[%d]", key, i), "is not a text, or is empty")
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

func (p *parser) rules() []Rule {
	var rules []Rule
	for i, text := range p.texts("allow") {
		r, err := parseRule(text)
		if err != nil {
			p.problem(fmt.Sprintf("allow[%d]", i), "%s", err.Error())
		}
		rules = append(rules, r)
	}
	return rules
}

// models reads a list of names, or a map from the client's names to the upstream's.
func (p *parser) models() []Model {
	var models []Model
	if renamed, ok := p.keys["models"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(renamed)) {
			upstream, ok := renamed[name].(string)
			if !ok || !isModel(upstream) {
				p.problem("models."+name, "is not the name of a model")
			}
			models = append(models, Model{name, upstream})
		}
		// The longest beginning wins: "claude-opus-*" before "claude-*".
		slices.SortStableFunc(models, func(a, b Model) int { return len(b.Name) - len(a.Name) })
	} else {
		for _, name := range p.texts("models") {
			models = append(models, Model{Name: name})
		}
	}
	if _, said := p.keys["models"]; said && len(models) == 0 {
		p.problem("models", "is empty: no model could be asked for; leave it out to allow every model")
	}
	for _, m := range models {
		if rest, _ := strings.CutSuffix(m.Name, "*"); rest != "" && !isModel(rest) || strings.Contains(rest, "*") {
			p.problem("models", "%s is not the name of a model; a * may stand at the end", short(m.Name))
		}
	}
	return models
}

func (p *parser) headers() []string {
	names := p.texts("headers")
	for i, name := range names {
		p.checkHeader(fmt.Sprintf("headers[%d]", i), strings.TrimSuffix(name, "*"))
	}
	return names
}

func (p *parser) set() map[string]string {
	value, said := p.keys["set"]
	if !said {
		return nil
	}
	given, ok := value.(map[string]any)
	if !ok {
		p.problem("set", "is not a list of headers and values")
	}
	set := make(map[string]string)
	for name, value := range given {
		text, ok := value.(string)
		if !ok || !isValue(text) {
			p.problem("set."+name, "is not the value of a header")
		}
		p.checkHeader("set."+name, name)
		set[http.CanonicalHeaderKey(name)] = text
	}
	return set
}

// checkHeader refuses fields that identify somebody, or that belong to one hop. No configuration may pass these on.
func (p *parser) checkHeader(key, name string) {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !isToken(name):
		p.problem(key, "%s is not the name of a header", short(name))
	case slices.Contains(never, canonical):
		p.problem(key, "%s is never passed on; a credential goes under \"credential\"", name)
	}
}

func (p *parser) size(key string, otherwise int64) int64 {
	value, said := p.keys[key]
	if !said {
		return otherwise
	}
	n, ok := number(value)
	if text, isText := value.(string); isText {
		n, ok = bytesOf(text)
	}
	if !ok || n <= 0 {
		p.problem(key, "is not a size such as \"32MiB\"")
	}
	return n
}

// cache returns a size, or 0 to keep nothing.
func (p *parser) cache() int64 {
	if n, ok := number(p.keys["cache"]); ok && n == 0 {
		return 0
	}
	if _, said := p.keys["cache"]; !said {
		return 0
	}
	return p.size("cache", 0)
}

func bytesOf(text string) (int64, bool) {
	for _, unit := range []struct {
		name  string
		shift int
	}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"", 0}} {
		if digits, ok := strings.CutSuffix(text, unit.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			return n << unit.shift, err == nil && n <= math.MaxInt64>>unit.shift
		}
	}
	return 0, false
}

// number accepts each type that readers of YAML and JSON use for a number.
func number(value any) (int64, bool) {
	switch n := value.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

func (p *parser) duration(key string, otherwise time.Duration) time.Duration {
	if _, said := p.keys[key]; !said {
		return otherwise
	}
	d, err := time.ParseDuration(p.text(key))
	if err != nil || d <= 0 {
		p.problem(key, "is not a duration such as \"90s\"")
	}
	return d
}

func isName(name string) bool {
	return len(name) > 0 && len(name) <= 64 && escape(name, "-_") == name
}

func isToken(name string) bool {
	return name != "" && len(name) <= 128 && escape(name, "!#$&'*+-.^_`|~") == name
}
