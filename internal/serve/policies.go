package serve

import (
	"fmt"
	"slices"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox/compile"
)

// Policies are the policies of the configuration, with facts that only the machine knows: where the operator names no owners, the
// outbox's own owner is the one, root included.
func Policies(c configs.Config) []compile.Policy {
	return withOwners(c.Policies(), func(p compile.Policy) (uint32, bool) {
		dir, err := delegation.OpenDir(p.Dir)
		if err != nil {
			return 0, false // it is not there yet; a later step that needs it will say so
		}
		defer dir.Close()
		uid, _ := dir.Owner()
		return uid, true
	})
}

// policies returns those of some of the host's outboxes. Their owners are those of the directories that are held: no path is opened again.
func (h *host) policies(of configs.Config) []compile.Policy {
	return withOwners(of.Policies(), func(p compile.Policy) (uint32, bool) {
		i := slices.IndexFunc(h.Config.Outboxes, func(o configs.Outbox) bool { return o.Name == p.Outbox })
		if h.isClosed(i) {
			return 0, false
		}
		uid, _ := h.dirs[i].Owner()
		return uid, true
	})
}

// withOwners gives policies that name no owners of workspaces the owner of the outbox.
func withOwners(policies []compile.Policy, ownerOf func(compile.Policy) (uint32, bool)) []compile.Policy {
	for i := range policies {
		if len(policies[i].Owners) > 0 {
			continue
		}
		if uid, known := ownerOf(policies[i]); known {
			policies[i].Owners = []uint32{uid}
		}
	}
	return policies
}

// tryOwners fails where the watcher could not look for workspaces with the rights of their owners. A watcher that is not
// root looks with its own rights.
func tryOwners(policies []compile.Policy) error {
	for _, policy := range policies {
		for _, uid := range policy.Owners {
			who := mounts.User{UID: uid, GID: mounts.NoGroup}
			if err := who.Do(func() error { return nil }); err != nil {
				return fmt.Errorf("outbox %s: %w", policy.Outbox, err)
			}
		}
	}
	return nil
}
