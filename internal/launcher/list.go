package launcher

import "slices"

// List holds launchers in the order of preference of "auto". A profile that names no launcher gets the first one.
type List []*Kind

// Names returns the names of the launchers, in order.
func (l List) Names() []string {
	names := make([]string, len(l))
	for i, kind := range l {
		names[i] = kind.Name
	}
	return names
}

// Find returns the launcher with this name, or nil.
func (l List) Find(name string) *Kind {
	i := slices.IndexFunc(l, func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return l[i]
}

// Only returns the launchers with these names.
func (l List) Only(names []string) (some List) {
	for _, kind := range l {
		if slices.Contains(names, kind.Name) {
			some = append(some, kind)
		}
	}
	return some
}

// Remedies returns how to make each launcher usable.
func (l List) Remedies() (all []string) {
	for _, kind := range l {
		all = append(all, kind.Nature.Install)
	}
	return all
}
