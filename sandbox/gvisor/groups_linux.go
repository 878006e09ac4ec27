package gvisor

import (
	"torno/internal/cgroups"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
)

// groups are the control groups of an installation, or why there are none.
type groups struct {
	tree cgroups.Tree
	name string
	err  error
}

func findGroups(installation local.Installation) groups {
	tree, err := cgroups.Find()
	return groups{tree: tree, name: groupName + "/" + string(installation), err: err}
}

// groupName is the group in which each installation has one.
const groupName = "torno"

// What gVisor needs for itself. Memory is that of the sentry and the gofer at rest, and what they need to know of a
// sandbox that is full; processes are the sentry's threads, and one on the host for each thread in the sandbox at least.
const (
	memoryReserve = 64 << 20
	pidsReserve   = 512
	pidsEach      = 4
)

// plan is the group of one sandbox; nil where there are none.
func (g groups) plan(id string, l sandbox.Limits) *cgroups.Plan {
	if g.err != nil {
		return nil
	}
	plan := g.tree.Plan(g.name+"/"+id, cgroups.Limits{
		Memory: l.Memory + memoryReserve, CPUs: l.CPUs, Pids: (l.Pids+runfile.Tasks)*pidsEach + pidsReserve,
	})
	return &plan
}

// dropEmpty removes the installation's own group, unless there is a sandbox in it.
func (g groups) dropEmpty() error {
	if g.err != nil {
		return nil //nolint:nilerr // there are none
	}
	return g.tree.Plan(g.name, cgroups.Limits{}).Group().RemoveIfEmpty()
}
