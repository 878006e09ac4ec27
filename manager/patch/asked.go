package patch

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Why the parent is asked about a path that is not on the list. docs/CLIENT.md has the table of all cases.
const (
	anExecutable = "an executable"
	aLink        = "a symbolic link"
	aDotName     = "a name that begins with a dot"
	aShortName   = "a short form that some file systems give to a longer name"
)

// asked decides about which changes the parent must be asked: changes to files that some program may run or obey
// without being told to. A path's own name and kind can be the reason. The map holds further reasons, namely places
// that count with everything below them: the directories of git's hooks, and the targets of links whose own name is a
// reason to ask. The keys are plain paths, the values say why.
type asked map[string]string

// why returns why the parent is asked about a path, or "". The sides are the entries that were, are and will be there,
// as far as they are known. A file that is taken away counts as well: it may have forbidden something. A directory does
// not count, only the files in it do.
func (a asked) why(p string, sides ...*Entry) string {
	sides = slices.DeleteFunc(slices.Clone(sides), func(e *Entry) bool { return e == nil || e.Kind == Directory })
	if len(sides) == 0 {
		return ""
	}
	named := a.byName(p)
	switch {
	case named != "" && named != aDotName && named != aShortName:
		return named
	case slices.ContainsFunc(sides, func(e *Entry) bool { return e.Kind == Link }):
		return aLink
	case slices.ContainsFunc(sides, func(e *Entry) bool { return e.Exec }):
		return anExecutable
	}
	return named
}

// byName returns why the parent is asked about a path, whatever lies there, or "".
func (a asked) byName(p string) string {
	names := plainNames(p)
	if what := autorun().what(names); what != "" {
		return what
	}
	if why := a.byPlace(strings.Join(names, "/")); why != "" {
		return why
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") }) {
		return aDotName
	}
	if slices.ContainsFunc(names, shortName.MatchString) {
		return aShortName
	}
	return ""
}

// shortName matches, in its plain form, a short name that FAT and NTFS give to a file with a longer name, such as
// VSCODE~1 for .vscode.
var shortName = regexp.MustCompile(`^[^.~]{1,6}~[0-9]{1,6}(\..{0,3})?$`)

// byPlace returns why a plain path counts because it is a place or lies below a place, or "".
func (a asked) byPlace(plain string) string {
	for at := plain; ; at = above(at) {
		if why := a[at]; why != "" || at == "." {
			return why
		}
	}
}

// add makes a path a place that counts with everything below it. It reports whether the place is new.
func (a asked) add(p, why string) bool {
	key := plainPath(p)
	if a[key] != "" {
		return false
	}
	a[key] = why
	return true
}

// askFor marks the changes about which a plan will ask, as far as that is known before the target directory is known.
func (w *Work) askFor(ctx context.Context) error {
	places, err := w.places(ctx, nil)
	if err != nil {
		return err
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.Refused == "" {
			c.RunsByItself = places.why(c.Path, c.Before, c.After)
		}
	}
	return nil
}

// places returns the directories of hooks, and the places that links lead to from there and from other places. It
// follows the links that the parent gave to the child and the links that the child made.
func (w *Work) places(ctx context.Context, hooks map[string]string) (asked, error) {
	a := asked{}
	before, after := w.links()
	for _, l := range []links{before, after, before.folded(), after.folded()} {
		for _, dir := range slices.Sorted(maps.Keys(hooks)) {
			for _, to := range []string{dir, l.follow(dir), l.follow(fold(dir))} {
				if to != "" {
					a.add(to, hooks[dir])
				}
			}
		}
		if err := l.reach(ctx, a); err != nil {
			return nil, err
		}
	}
	return a, nil
}
