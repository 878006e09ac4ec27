// Package groups manages the control groups of gVisor's sandboxes: one group for each installation, and in it one for
// each sandbox. gVisor makes none itself; a sandbox's keeper makes the sandbox's group from a plan.
//
//	g := groups.Find(installation)  // g.Err says why there are none
//	plan := g.Plan(id, limits)      // nil if there are none
//	all := g.Guarantees()
//
// The package promises: a group has room for the sandbox's limits and for gVisor's own needs. It neither names nor
// removes groups of another installation, except for Left, which only counts.
package groups
