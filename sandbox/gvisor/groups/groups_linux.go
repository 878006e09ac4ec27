package groups

import (
	"context"
	"fmt"
	"path/filepath"

	"torno/internal/cgroups"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Groups are the control groups of an installation. If there are none, err says why.
type Groups struct {
	tree cgroups.Tree
	name string
	err  error
}

// Find looks for a place on this machine where our groups can be made.
func Find(installation local.Installation) Groups {
	tree, err := cgroups.Find()
	return Groups{tree: tree, name: Parent + "/" + string(installation), err: err}
}

// Err returns the reason why there are no groups, or nil.
func (g Groups) Err() error { return g.err }

// Version returns the version of the kernel's control groups.
func (g Groups) Version() int { return g.tree.Version() }

// Swap reports whether swap is bounded.
func (g Groups) Swap() bool { return g.err == nil && g.tree.Swap() }

// CPU reports whether processor time is bounded.
func (g Groups) CPU() bool { return g.err == nil && g.tree.CPU() }

// Parent is the group that contains each installation's group.
const Parent = "torno"

// These are gVisor's own needs. memoryReserve is for the sentry and the gofer at rest, and for their bookkeeping when a
// sandbox is full. pidsReserve is for the sentry's threads. pidsEach is for threads on the host: each thread in the
// sandbox needs at least one.
const (
	memoryReserve = 64 << 20
	pidsReserve   = 512
	pidsEach      = 4
)

// Plan returns the plan for the group of one sandbox, or nil if there are no groups.
func (g Groups) Plan(id string, l sandbox.Limits) *cgroups.Plan {
	if g.err != nil {
		return nil
	}
	plan := g.tree.Plan(g.name+"/"+id, cgroups.Limits{
		Memory: l.Memory + memoryReserve, CPUs: l.CPUs, Pids: (l.Pids+runfile.Tasks)*pidsEach + pidsReserve,
	})
	return &plan
}

// DropEmpty removes the installation's own group, unless it contains a sandbox.
func (g Groups) DropEmpty() error {
	if g.err != nil {
		return nil //nolint:nilerr // there are no groups
	}
	return g.tree.Plan(g.name, cgroups.Limits{}).Group().RemoveIfEmpty()
}

// Sandboxes returns the ids of the sandboxes that have a group.
func (g Groups) Sandboxes() ([]string, error) {
	if g.err != nil {
		return nil, nil //nolint:nilerr // there are no groups
	}
	return g.tree.Left(g.name)
}

// Drop removes the installation's own group, which contains no sandbox any more.
func (g Groups) Drop(ctx context.Context) error {
	if g.err != nil {
		return nil //nolint:nilerr // there are no groups
	}
	return g.tree.Plan(g.name, cgroups.Limits{}).Group().Remove(ctx)
}

// Sandbox is a sandbox that has a group.
type Sandbox struct {
	ID    string
	Lives bool // it has processes
}

// Left returns the sandboxes that have groups on this machine, by installation.
func Left() (map[string][]Sandbox, error) {
	tree, err := cgroups.Find()
	if err != nil {
		return nil, nil //nolint:nilerr // without groups our processes cannot be told from others
	}
	installations, err := tree.Left(Parent)
	if err != nil {
		return nil, err
	}
	all := map[string][]Sandbox{}
	for _, installation := range installations {
		within := filepath.Join(Parent, installation)
		ids, err := tree.Left(within)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			all[installation] = append(all[installation], Sandbox{id, tree.HasProcesses(filepath.Join(within, id))})
		}
	}
	return all, nil
}

// Guarantees returns the guarantees that the groups enforce, or the reasons why they do not.
func (g Groups) Guarantees() sandbox.Guarantees {
	all := sandbox.Guarantees{}
	for key, by := range map[sandbox.GuaranteeKey]string{
		sandbox.MemoryLimit: fmt.Sprintf("memory control group, with %d MiB for gVisor itself", memoryReserve>>20), sandbox.CPULimit: "CPU control group",
		sandbox.PidsLimit: "rlimit nproc in the sandbox, and the pids control group around it", sandbox.SwapLimit: "memory control group",
	} {
		all[key] = g.guarantee(key, by)
	}
	return all
}

func (g Groups) guarantee(key sandbox.GuaranteeKey, by string) sandbox.Guarantee {
	switch {
	case g.err != nil:
		return sandbox.Guarantee{By: g.err.Error()}
	case key == sandbox.SwapLimit && !g.tree.Swap():
		return sandbox.Guarantee{By: "the kernel does not count swap"}
	case key == sandbox.CPULimit && !g.tree.CPU():
		return sandbox.Guarantee{By: "the controller cpu was not delegated"}
	}
	return sandbox.Guarantee{Enforced: true, By: fmt.Sprintf("%s, version %d", by, g.tree.Version())}
}
