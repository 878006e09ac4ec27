package serve

import (
	"fmt"
	"slices"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox/compile"
)

// Policies returns the policies of the configuration, with facts that only the machine knows. If the operator names no
// owners, the owner of the outbox is the only one, even if that is root.
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

// policies returns the policies of some of the host's outboxes. It takes their owners from the directories that are
// held, and opens no path again.
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

// withOwners completes policies that name no owners of workspaces: it gives them the owner of the outbox.
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

// tryOwners fails if the watcher could not look for workspaces with the rights of their owners. A watcher that is not
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
