package launcher

import "slices"

// List are launchers, in the order in which "auto" chooses among them. The first one is what a profile has that says
// nothing.
type List []*Kind

// Names are the names, in that order.
func (l List) Names() []string {
	names := make([]string, len(l))
	for i, kind := range l {
		names[i] = kind.Name
	}
	return names
}

// Find returns the launcher of a name, or nil.
func (l List) Find(name string) *Kind {
	i := slices.IndexFunc(l, func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return l[i]
}

// Only are those of some names.
func (l List) Only(names []string) (some List) {
	for _, kind := range l {
		if slices.Contains(names, kind.Name) {
			some = append(some, kind)
		}
	}
	return some
}

// Remedies are what to do where no launcher can be used.
func (l List) Remedies() (all []string) {
	for _, kind := range l {
		all = append(all, kind.Nature.Install)
	}
	return all
}
