package serve

import (
	"torno/configs"
	"torno/delegation"
	"torno/sandbox"
)

// Policies are those of the configuration, with what only the machine knows: where the operator names no owners of
// workspaces, it is the owner of the outbox.
func Policies(c configs.Config) []sandbox.Policy {
	policies := c.Policies()
	for i := range policies {
		if len(policies[i].Owners) > 0 {
			continue
		}
		dir, err := delegation.OpenDir(policies[i].Dir)
		if err != nil {
			continue // it is not there yet; whoever needs it will say so
		}
		uid, _ := dir.Owner()
		policies[i].Owners = []uint32{uid}
		dir.Close()
	}
	return policies
}
