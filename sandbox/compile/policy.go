package compile

import (
	"cmp"
	"strings"

	"torno/internal/nearest"
)

// Policy is what the operator allows to the requests of one outbox. The zero Policy allows nothing.
//
// All paths in it are absolute and tidy (one slash between components, no "." and no ".."), which package configs sees
// to. They are seen from the watcher, except where PathMap says otherwise.
type Policy struct {
	Outbox string // its name in the configuration
	Dir    string // the directory that the watcher holds open
	// Allow are the directories below which a workspace may lie.
	Allow []Root
	// Read are the directories below which context may lie, and so are those of Allow, because a parent and its roots are
	// one domain of trust, unless StrictRead is set.
	Read       []Root
	StrictRead bool
	// Hidden are places of the host that no mount may be, hold or lie in: the state directory, the engine's socket,
	// the outboxes of others. The outbox itself need not be listed: a mount may lie in it, and never be or hold it.
	Hidden []string
	Paths  []PathMap
	// Profiles are on offer; the first one is for requests that name none.
	Profiles []Profile
	// Owners are the users of the host whose files the children may own; see Spec.Owners.
	Owners []uint32
}

// Root is a directory under which requests may name paths.
type Root string

// PathMap gives the three views of one directory: the parent's, which requests use and the child sees, the watcher's,
// and the engine's. An empty Here is Parent, an empty Engine is Here. Of several that fit the longest one counts.
type PathMap struct {
	Parent string
	Here   string
	Engine string
}

func (m PathMap) here() string   { return cmp.Or(m.Here, m.Parent) }
func (m PathMap) engine() string { return cmp.Or(m.Engine, m.here()) }

// Profile returns the profile on offer under that name; "" names the first.
func (p Policy) Profile(name string) (Profile, bool) {
	for _, profile := range p.Profiles {
		if name == "" || profile.Name == name {
			return profile, true
		}
	}
	return Profile{}, false
}

// readable are the roots for context.
func (p Policy) readable() []Root {
	if p.StrictRead {
		return p.Read
	}
	return append(append([]Root(nil), p.Read...), p.Allow...)
}

// offers is the hint for a request with a profile that is not on offer.
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
