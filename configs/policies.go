package configs

import (
	"slices"

	"torno/sandbox/compile"
)

// Policies returns the policy of each outbox, in the order of Outboxes. If an outbox has no Owners, its policy has none
// either: the default is the owner of its directory, and only a look at the machine tells that.
func (c Config) Policies() []compile.Policy {
	policies := make([]compile.Policy, len(c.Outboxes))
	for i, o := range c.Outboxes {
		policies[i] = compile.Policy{
			Outbox: o.Name, Dir: o.Dir,
			Allow: roots(o.Allow), Read: roots(o.Read), StrictRead: !o.ReadAllowed,
			Hidden: c.hidden(o.Name), Paths: slices.Clone(o.Paths), Owners: slices.Clone(o.Owners),
		}
		for _, name := range o.Profiles {
			if at := slices.IndexFunc(c.Profiles, func(p compile.Profile) bool { return p.Name == name }); at >= 0 {
				policies[i].Profiles = append(policies[i].Profiles, c.Profiles[at])
			}
		}
	}
	return policies
}

// hidden returns the places that no mount for an outbox may touch: the configuration, the state, the gateway, the
// credentials, the engines and the other outboxes.
func (c Config) hidden(outbox string) []string {
	hidden := slices.Concat(c.Files(), []string{c.State}, c.sockets(), c.Gateway.credentials())
	if !c.Gateway.Own() {
		hidden = append(hidden, c.Gateway.State)
	}
	for _, o := range c.Outboxes {
		if o.Name != outbox {
			hidden = append(hidden, o.Dir)
		}
	}
	return hidden
}

func roots(dirs []string) []compile.Root {
	all := make([]compile.Root, len(dirs))
	for i, dir := range dirs {
		all[i] = compile.Root(dir)
	}
	return all
}
