package patch

import (
	_ "embed" // the list
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
	pattern string // of a name, folded
	below   bool   // also everything below a directory of that name
	what    string
}

// rules are the list, so that a name finds those that may be meant for it.
type rules struct {
	plain map[string][]rule // by the pattern, where that has no *
	wild  []rule            // the others, which mean files alone
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
		pattern, below := strings.CutSuffix(pattern, "/**")
		r := rule{fold(pattern), below, strings.TrimSpace(what)}
		if strings.ContainsAny(r.pattern, "*?[\\") {
			all.wild = append(all.wild, r)
		} else {
			all.plain[r.pattern] = append(all.plain[r.pattern], r)
		}
	}
	return all
}

// what says what reads a path, given by its plain names, without being asked to; or "". The file's own name counts before those
// of the directories in which it lies.
func (all rules) what(names []string) string {
	last := len(names) - 1
	for i := last; i >= 0; i-- {
		for _, r := range all.plain[names[i]] {
			if r.below || i == last {
				return r.what
			}
		}
		if i != last {
			continue
		}
		for _, r := range all.wild {
			if matches, err := path.Match(r.pattern, names[i]); matches && err == nil {
				return r.what
			}
		}
	}
	return ""
}
