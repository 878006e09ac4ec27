package patch

import (
	"fmt"
	"path"
)

// refuseTwins refuses what the child has added under a name that some file system takes for another one of its tree: there
// one of the two would overwrite the other. What was there before may stay.
func (w *Work) refuseTwins(before tree) {
	first := map[string]string{}
	for _, p := range paths(w.all) {
		if before[p] != nil {
			first[fold(p)] = p
		}
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.Before != nil || c.After == nil {
			continue
		}
		key := fold(c.Path)
		other, taken := first[key]
		switch {
		case !taken:
			first[key] = c.Path
		case other != c.Path && c.Refused == "":
			c.Refused = fmt.Sprintf("some file systems take its name for %q", other)
		}
	}
}

// twinIn says which of a directory's names some file system takes for the one of a path, or "".
func twinIn(names []string, p string) string {
	own := path.Base(p)
	for _, name := range names {
		if name != own && fold(name) == fold(own) {
			return name
		}
	}
	return ""
}
