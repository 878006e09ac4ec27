package patch

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Why a path is asked for that is not on the list. docs/CLIENT.md has the table of all cases.
const (
	anExecutable = "an executable"
	aLink        = "a symbolic link"
	aDotName     = "a name that begins with a dot"
	aShortName   = "a name that some file systems give a longer one"
)

// asked decides which changes need a word of the parent's: those that something may run, or obey, without being told to. It knows
// the places that count with all below them, beside what a path's own name and kind say: the directories of git's hooks, and
// what is reached through a link that is asked for by its own name. The keys are plain paths, the values say why.
type asked map[string]string

// why says why a path is asked for, or "". The sides are what was, is and shall be there, as far as they are known. What is
// taken away counts as well: it may have forbidden something. A directory counts by what is in it.
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

// byName says why a path is asked for whatever lies there, or "".
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

// shortName matches what FAT and NTFS call a file whose name is longer, as VSCODE~1 for .vscode, in its plain form.
var shortName = regexp.MustCompile(`^[^.~]{1,6}~[0-9]{1,6}(\..{0,3})?$`)

// byPlace says why a plain path counts that is a place or lies below one, or "".
func (a asked) byPlace(plain string) string {
	for at := plain; ; at = above(at) {
		if why := a[at]; why != "" || at == "." {
			return why
		}
	}
}

// add makes a path one that counts, with all below it.
func (a asked) add(p, why string) bool {
	key := plainPath(p)
	if a[key] != "" {
		return false
	}
	a[key] = why
	return true
}

// askFor names the changes for which a plan will ask, as far as that is known without the directory to which they are taken.
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

// places are the directories of hooks, and what is reached from there and from other places through links that the parent has
// given to the child, or the child has made.
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
