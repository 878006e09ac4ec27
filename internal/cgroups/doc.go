// Package cgroups bounds the processes of a sandbox where no engine does it: memory, processors and processes, in version 1
// or version 2 of control groups, as root or in a part that was delegated to an ordinary user.
//
//	tree, err := cgroups.Find()                        // where groups can be made here, or why not
//	plan := tree.Plan("torno/4f…/1c…", limits)         // plain data, for another process
//	group, err := plan.Make()                          // repeatable
//	err = group.Start(func() error { … fork … })       // whatever is forked in there begins its life in the group
//	use := group.Use()                                 // what it has used, and whether memory killed in it
//	err = group.Remove()                               // kills what is left, and waits for it
//
// Six files are written in all, which is why no library does it: the usual one brings eBPF, D-Bus and a logger into a
// program that runs once beside each sandbox.
package cgroups
