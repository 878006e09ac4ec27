package patch

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
)

// links maps the paths of a tree's symbolic links to their targets.
type links map[string]string

// links returns the links that the child was given, and the links that will exist once its work is taken.
func (w *Work) links() (before, after links) {
	before, after = links{}, links{}
	for i := range w.Base.Entries {
		if e := &w.Base.Entries[i]; e.Kind == Link {
			before[e.Path], after[e.Path] = e.Target, e.Target
		}
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		delete(after, c.Path)
		if c.After != nil && c.After.Kind == Link && c.Refused == "" {
			after[c.Path] = c.After.Target
		}
	}
	return before, after
}

// folded returns the links as they look on a file system that takes several names for the same.
func (l links) folded() links {
	all := make(links, len(l))
	for p, target := range l {
		all[fold(p)] = fold(target)
	}
	return all
}

// follow returns the path where p ends after the links of the tree are followed, as a kernel follows them. It returns
// "" if that is outside of the tree or takes too many links.
func (l links) follow(p string) string {
	at, rest := ".", names(p)
	for followed := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		target, isLink := l[next]
		switch {
		case isOutside(next) || path.IsAbs(target) || followed > maxLinks:
			return ""
		case isLink:
			followed++
			rest = append(names(target), rest[1:]...)
		default:
			at, rest = next, rest[1:]
		}
	}
	return at
}

const throughLink = ", through a link"

// reach adds the targets of links whose own path is a reason to ask. A target counts with everything below it, so links
// that lie there lead on. Each round gets at least one link further than the round before, and no kernel follows more
// than maxLinks.
func (l links) reach(ctx context.Context, a asked) error {
	type link struct{ path, plain, why string }
	waiting := make([]link, 0, len(l)) // with the reason that its name gives
	for _, p := range slices.Sorted(maps.Keys(l)) {
		waiting = append(waiting, link{p, plainPath(p), a.byName(p)})
	}
	for range maxLinks {
		found := false
		rest := waiting[:0]
		for _, at := range waiting {
			if err := ctx.Err(); err != nil {
				return err
			}
			why := cmp.Or(at.why, a.byPlace(at.plain))
			if why == "" {
				rest = append(rest, at)
			} else if to := l.follow(at.path); to != "" {
				found = a.add(to, strings.TrimSuffix(why, throughLink)+throughLink) || found
			}
		}
		if !found {
			break
		}
		waiting = rest
	}
	return nil
}
