package serve

import (
	"fmt"

	"torno/configs"
	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox/compile"
)

// Policies are the policies of the configuration, with facts that only the machine knows: where the operator names no owners, the
// outbox's own owner is the one, root included.
func Policies(c configs.Config) []compile.Policy {
	policies := c.Policies()
	for i := range policies {
		if len(policies[i].Owners) > 0 {
			continue
		}
		dir, err := delegation.OpenDir(policies[i].Dir)
		if err != nil {
			continue // it is not there yet; a later step that needs it will say so
		}
		uid, _ := dir.Owner()
		policies[i].Owners = []uint32{uid}
		dir.Close()
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
