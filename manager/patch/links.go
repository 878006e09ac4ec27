package patch

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
)

// links are the symbolic links of a tree, by path, and where they lead.
type links map[string]string

// links are those that the child was given, and those that are there once its work is taken.
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

// folded are the links as a file system has them that takes several names for one.
func (l links) folded() links {
	all := make(links, len(l))
	for p, target := range l {
		all[fold(p)] = fold(target)
	}
	return all
}

// follow is the path to which a path leads through the links of the tree, as a kernel goes there; "" where that is out of the
// tree, or through too many.
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

// reach adds the paths to which links lead whose own path is asked for. They count with all below them, so links that lie there lead
// on. A round finds at least what is one link further than the round before, and no kernel follows more than maxLinks.
func (l links) reach(ctx context.Context, a asked) error {
	type link struct{ path, plain, why string }
	waiting := make([]link, 0, len(l)) // with what its name says
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
