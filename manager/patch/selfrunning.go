package patch

import (
	"bytes"
	"context"
	_ "embed" // the list
	"encoding/json"
	"errors"
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
	below   bool     // also everything below what the pattern says
	member  string   // of a JSON file: only a change of this member counts; "" for any change
	what    string
}

// rules are the list, so that a path finds those that may be meant for it.
type rules struct {
	plain map[string][]rule // by the last segment of the pattern, where that has no *
	wild  []rule            // the others
	deep  []rule            // all whose pattern has several segments
}

var autorun = sync.OnceValue(func() rules { return parseRules(autorunText) })

func parseRules(text string) rules {
	all := rules{plain: map[string][]rule{}}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		pattern, what, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		pattern, member, _ := strings.Cut(pattern, "@")
		pattern, below := strings.CutSuffix(pattern, "/**")
		r := rule{strings.Split(fold(pattern), "/"), below, member, strings.TrimSpace(what)}
		if last := r.pattern[len(r.pattern)-1]; strings.ContainsAny(last, "*?[\\") {
			all.wild = append(all.wild, r)
		} else {
			all.plain[last] = append(all.plain[last], r)
		}
		if len(r.pattern) > 1 {
			all.deep = append(all.deep, r)
		}
	}
	return all
}

// of are the rules that mean a folded path; those of its name before those of a directory above it.
func (all rules) of(p string) (found []rule) {
	segments := strings.Split(p, "/")
	for end := len(segments); end > 0; end-- {
		for _, some := range [][]rule{all.plain[segments[end-1]], all.wild} {
			for _, r := range some {
				if (r.below || end == len(segments)) && endsAs(segments[:end], r.pattern) {
					found = append(found, r)
				}
			}
		}
	}
	return found
}

// below says what reads something below a folded path because of what the path is called: below gradle there is
// gradle/wrapper.
func (all rules) below(p string) string {
	segments := strings.Split(p, "/")
	for _, r := range all.deep {
		for part := 1; part < len(r.pattern); part++ {
			if endsAs(segments, r.pattern[:part]) {
				return r.what
			}
		}
	}
	return ""
}

// endsAs says whether the last segments are as the pattern says.
func endsAs(segments, pattern []string) bool {
	if len(segments) < len(pattern) {
		return false
	}
	segments = segments[len(segments)-len(pattern):]
	for i, p := range pattern {
		if ok, err := path.Match(p, segments[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// whatRuns says what runs a file of this path without being asked to, or "".
func whatRuns(p string) string {
	for _, r := range autorun().of(fold(p)) {
		return r.what
	}
	return ""
}

// ofContent says whether a change makes, alters or takes away more than a directory. Taking away counts: without a file of
// settings a program runs what that file forbade.
func (c *Change) ofContent() bool {
	return c.Before != nil && c.Before.Kind != Directory || c.After != nil && c.After.Kind != Directory
}

// ofLink says whether the path was or will be a link.
func (c *Change) ofLink() bool {
	return c.Before != nil && c.Before.Kind == Link || c.After != nil && c.After.Kind == Link
}

// markSelfRunning names the changes that a program on the parent's side would run, or obey, without being told to.
func (w *Work) markSelfRunning(ctx context.Context) error {
	w.names = w.aliases()
	known := map[string]string{}
	for i := range w.Changes {
		c := &w.Changes[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if !c.ofContent() {
			continue
		}
		var failed error
		c.RunsByItself = w.names.of(fold(c.Path), c.ofLink(), reader{
			at: func(p string) string {
				what, err := w.meant(p, c)
				failed = errors.Join(failed, err)
				return what
			},
			below: autorun().below,
			known: known,
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// meant says what reads a change under one of its names.
func (w *Work) meant(name string, c *Change) (string, error) {
	for _, r := range autorun().of(name) {
		if counts, err := w.counts(r, c); counts || err != nil {
			return r.what, err
		}
	}
	return "", nil
}

// counts says whether a change is one that the rule means.
func (w *Work) counts(r rule, c *Change) (bool, error) {
	if r.member == "" || c.After != nil && c.After.Kind != File || c.Refused != "" {
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
	if c.Before == nil {
		before = []byte("{}")
	}
	if c.After == nil {
		after = []byte("{}")
	}
	return !sameMember(before, after, r.member), nil
}

// sameMember says whether a member of a JSON object is the same text before and after. What does not parse is not the same.
func sameMember(before, after []byte, member string) bool {
	was, ok := members(before)
	is, also := members(after)
	return ok && also && bytes.Equal(was[member], is[member])
}

// members are those of a JSON object. One that has two of a name is not taken for an object: programs differ in which counts.
func members(text []byte) (all map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(text, &all) != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	count := 0
	for ; d.More(); count++ {
		var value json.RawMessage
		if _, err := d.Token(); err != nil || d.Decode(&value) != nil {
			return nil, false
		}
	}
	return all, count == len(all)
}

// mergedRuns says what runs a file of which lines of both sides were brought together, where that makes a member another one
// than today although the child's lines alone did not.
func (p *Plan) mergedRuns(c *Change, merged *Entry) (string, error) {
	for _, r := range autorun().of(fold(c.Path)) {
		if r.member == "" {
			continue
		}
		today, ok, err := p.to.text(c.Path)
		if err != nil {
			return "", err
		}
		text, also, err := p.work.stage.text(merged.Digest)
		if err != nil || !ok || !also || !sameMember(today, text, r.member) {
			return r.what, err
		}
	}
	return "", nil
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
