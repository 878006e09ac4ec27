package patch

import (
	_ "embed" // the list
	"path"
	"strings"
	"sync"
)

// autorun.txt lists the files that run by themselves; its head explains the format.
//
//go:embed autorun.txt
var autorunText string

// rule is one line of the list.
type rule struct {
	pattern string // of a name, folded
	below   bool   // also everything below a directory of that name
	what    string
}

// rules holds the list, arranged so that a name quickly finds the rules that may match it.
type rules struct {
	plain map[string][]rule // by pattern, if it has no *
	wild  []rule            // the others, which match only files
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

// what returns which program reads a path without being told to, or "". The path is given by its plain names. The
// file's own name counts before the names of the directories above it.
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
