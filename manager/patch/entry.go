package patch

import (
	"cmp"
	"slices"
)

// Kind is the kind of a tree's entry.
type Kind string

// The kinds. An entry of kind Other is never taken over.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Link      Kind = "link"
	Other     Kind = "other"
)

// Entry is one name of a tree, with its path below the tree.
type Entry struct {
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Exec   bool   `json:"exec,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Digest string `json:"digest,omitempty"` // SHA-256 of a file's content
	Target string `json:"target,omitempty"` // of a link
	Fault  string `json:"-"`                // why a parent does not take it over
}

// Mode returns the mode that git would give the entry.
func (e *Entry) Mode() string {
	switch {
	case e.Kind == File && e.Exec:
		return "100755"
	case e.Kind == File:
		return "100644"
	case e.Kind == Link:
		return "120000"
	case e.Kind == Directory:
		return "040000"
	}
	return "000000"
}

// same reports whether two entries are alike. Either may be missing.
func same(a, b *Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Exec == b.Exec && a.Digest == b.Digest && a.Target == b.Target && a.Kind != Other
}

// tree maps paths to entries.
type tree map[string]*Entry

// paths returns the paths of several trees, sorted, each once.
func paths(trees ...tree) []string {
	var all []string
	for _, t := range trees {
		for path := range t {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sorted returns the entries sorted by path.
func (t tree) sorted() []Entry {
	all := make([]Entry, 0, len(t))
	for _, e := range t {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return all
}
