// Package groups has the control groups of gVisor's sandboxes: one for each installation, with one for each sandbox in it. gVisor
// makes none itself; a sandbox's keeper does, by the plan.
//
//	g := groups.Find(installation)  // or why there are none
//	plan := g.Plan(id, limits)      // nil where there are none
//	all := g.Guarantees()
//
// What it promises: a group is as large as the sandbox's limits and what gVisor needs for itself. Nothing of another installation is
// named or removed, but by Left, which only counts.
package groups
