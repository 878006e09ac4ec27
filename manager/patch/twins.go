package patch

import "fmt"

// refuseTwins refuses a new name of the child's if some file system takes it for another name of its tree: there one
// file would overwrite the other. Names from the base may stay.
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

// forms maps folded names to names. If several names fold alike, the last counts.
type forms map[string]string

func formsOf(names []string) forms {
	f := make(forms, len(names))
	for _, name := range names {
		f[fold(name)] = name
	}
	return f
}

// twin returns another name that some file system takes for this one, or "".
func (f forms) twin(name string) string {
	if other := f[fold(name)]; other != name {
		return other
	}
	return ""
}
