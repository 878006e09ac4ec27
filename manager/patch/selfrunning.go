package patch

import (
	"bytes"
	_ "embed" // the list
	"encoding/json"
	"path"
	"strings"
	"sync"
)

// autorun.txt is the list of files that run by themselves; its head says how it reads.
//
//go:embed autorun.txt
var autorunText string

// rule is one line of the list.
type rule struct {
	pattern []string // folded, by segments
	member  string   // of a JSON file: only a change of this member counts; "" for any change
	what    string
}

var autorun = sync.OnceValue(func() []rule { return parseRules(autorunText) })

func parseRules(text string) (rules []rule) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		pattern, what, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		pattern, member, _ := strings.Cut(pattern, "@")
		rules = append(rules, rule{strings.Split(fold(pattern), "/"), member, strings.TrimSpace(what)})
	}
	return rules
}

// matches says whether a folded path, by segments, ends as the pattern says, or lies below what does where that ends in "**".
func (r rule) matches(segments []string) bool {
	pattern := r.pattern
	below := pattern[len(pattern)-1] == "**"
	if below {
		pattern = pattern[:len(pattern)-1]
	}
	for end := len(pattern); end <= len(segments); end++ {
		if (below || end == len(segments)) && matchEach(pattern, segments[end-len(pattern):end]) {
			return true
		}
	}
	return false
}

func matchEach(pattern, segments []string) bool {
	for i, p := range pattern {
		if ok, err := path.Match(p, segments[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// markSelfRunning names the changes that a program on the parent's side would run without being told to.
func (w *Work) markSelfRunning() error {
	through := w.aliases()
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.After == nil || c.After.Kind == Directory {
			continue
		}
		c.RunsByItself = through.of(c.Path)
		segments := strings.Split(fold(c.Path), "/")
		for _, r := range autorun() {
			if !r.matches(segments) {
				continue
			}
			counts, err := w.counts(r, c)
			if err != nil {
				return err
			}
			if counts {
				c.RunsByItself = r.what
				break
			}
		}
	}
	return nil
}

// counts says whether a change is one that the rule means.
func (w *Work) counts(r rule, c *Change) (bool, error) {
	if r.member == "" || c.After.Kind != File || c.Refused != "" {
		return true, nil
	}
	after, ok, err := w.after(c)
	if err != nil || !ok {
		return true, err
	}
	before, ok, err := w.before(c)
	if err != nil || !ok && c.Before != nil {
		return true, err
	}
	return !sameMember(before, after, r.member), nil
}

// sameMember says whether a member of a JSON object is the same text before and after. What does not parse is not the same.
func sameMember(before, after []byte, member string) bool {
	var was, is map[string]json.RawMessage
	if before != nil && json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return false
	}
	return bytes.Equal(was[member], is[member])
}

// before is the text that a file had, if it is known.
func (w *Work) before(c *Change) ([]byte, bool, error) {
	if c.Before == nil || c.Before.Kind != File {
		return nil, c.Before == nil, nil
	}
	return w.store.text(w.Base, c.Before.Digest)
}

// after is the text that a file has now.
func (w *Work) after(c *Change) ([]byte, bool, error) {
	switch {
	case c.After == nil || c.After.Kind != File:
		return nil, c.After == nil, nil
	case c.After.Digest == "":
		return nil, false, nil
	case !w.stage.has(c.After.Digest): // only its mode is another one
		return w.store.text(w.Base, c.After.Digest)
	}
	return w.stage.text(c.After.Digest)
}
