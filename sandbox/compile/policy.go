package compile

import (
	"cmp"
	"strings"

	"torno/internal/nearest"
)

// Policy holds the operator's rules for the requests of one outbox. The zero Policy allows nothing.
//
// All paths in it are absolute and tidy (one slash between components, no "." and no ".."); package configs ensures
// this. They are the watcher's views, except where PathMap says otherwise.
type Policy struct {
	Outbox string // its name in the configuration
	Dir    string // the directory that the watcher holds open
	// Allow lists the directories below which a workspace may lie.
	Allow []Root
	// Read lists the directories below which context may lie. Unless StrictRead is set, context may lie below the
	// directories of Allow as well, because a parent and its roots are one domain of trust.
	Read       []Root
	StrictRead bool
	// Hidden lists places of the host that no mount may be, hold or lie in: the state directory, the engine's socket,
	// the outboxes of others. The outbox itself need not be listed: a mount may lie in it, but may never be it or hold
	// it.
	Hidden []string
	Paths  []PathMap
	// Profiles are on offer. The first one serves requests that name none.
	Profiles []Profile
	// Owners lists the users of the host that may own the workspaces; see Spec.Owners.
	Owners []uint32
}

// Root is a directory under which requests may name paths.
type Root string

// PathMap gives three views of one directory: the parent's, which requests use and the child sees; the watcher's
// (Here); and the engine's. An empty Here means Parent, an empty Engine means Here. If several maps fit, the longest
// one counts.
type PathMap struct {
	Parent string
	Here   string
	Engine string
}

func (m PathMap) here() string   { return cmp.Or(m.Here, m.Parent) }
func (m PathMap) engine() string { return cmp.Or(m.Engine, m.here()) }

// Profile returns the profile on offer under that name; "" selects the first.
func (p Policy) Profile(name string) (Profile, bool) {
	for _, profile := range p.Profiles {
		if name == "" || profile.Name == name {
			return profile, true
		}
	}
	return Profile{}, false
}

// readable returns the roots for context.
func (p Policy) readable() []Root {
	if p.StrictRead {
		return p.Read
	}
	return append(append([]Root(nil), p.Read...), p.Allow...)
}

// offers returns the hint for a request whose profile is not on offer.
func (p Policy) offers(asked string) string {
	var names []string
	for _, profile := range p.Profiles {
		names = append(names, profile.Name)
	}
	if len(names) == 0 {
		return "no profile is on offer in this outbox; its operator has to add one"
	}
	hint := "on offer are: " + strings.Join(names, ", ")
	if near := nearest.Word(asked, names); near != "" {
		hint += "; did you mean " + near + "?"
	}
	return hint
}
