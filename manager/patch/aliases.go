package patch

import (
	"cmp"
	"path"
	"strings"
)

// aliases are what leads from a path that runs by itself to another one: who changes scripts/env changes .envrc, where that
// is a link to it. By the folded path, what reads it.
type aliases map[string]string

// maxAliasing bounds how many links after each other are gone along.
const maxAliasing = 8

// aliases are those of the links that the parent has given to the child, or the child has made.
func (w *Work) aliases() aliases {
	links := map[string]string{} // what each leads to
	for _, t := range []tree{w.Base.tree(), w.all} {
		for p, e := range t {
			if e.Kind == Link && !path.IsAbs(e.Target) {
				links[p] = path.Join(path.Dir(p), e.Target)
			}
		}
	}
	all := aliases{}
	for range maxAliasing {
		before := len(all)
		for p, target := range links {
			if what := cmp.Or(whatRuns(p), all.of(p)); what != "" {
				all.add(target, what)
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

func (a aliases) add(p, what string) {
	if p != "." && p != ".." && !strings.HasPrefix(p, "../") {
		a[fold(p)] = what
	}
}

// of says what reads a path, or a directory above it, through an alias.
func (a aliases) of(p string) string {
	if len(a) == 0 {
		return ""
	}
	for at := fold(p); at != "."; at = path.Dir(at) {
		if what := a[at]; what != "" {
			return what
		}
	}
	return ""
}

// hooks are the aliases of the parent's git directory: hooks that are links into the tree, and a directory of hooks that its
// configuration names. What includes and other levels of the configuration say is not looked at.
func (t target) hooks() (aliases, error) {
	all := aliases{}
	names, err := t.names(".git/hooks")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		e, err := t.glance(".git/hooks/" + name)
		if err != nil {
			return nil, err
		}
		if e != nil && e.Kind == Link && !path.IsAbs(e.Target) {
			all.add(path.Join(".git/hooks", e.Target), "git, as the hook "+name)
		}
	}
	config, _, err := t.text(".git/config")
	if isAbsent(err) {
		return all, nil
	}
	for line := range strings.Lines(string(config)) {
		key, value, _ := strings.Cut(line, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); strings.EqualFold(strings.TrimSpace(key), "hooksPath") && !path.IsAbs(value) {
			all.add(path.Clean(value), "git, as a hook")
		}
	}
	return all, err
}
