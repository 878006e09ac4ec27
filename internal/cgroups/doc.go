// Package cgroups bounds the memory, processors and number of processes of a sandbox if no engine does it. It works
// with version 1 and version 2 of control groups, as root or in a part that was delegated to an ordinary user.
//
//	tree, err := cgroups.Find()                        // a place where groups can be made, or why there is none
//	plan := tree.Plan("torno/4f…/1c…", limits)         // plain data, for another process
//	group, err := plan.Make()                          // repeatable
//	err = group.Start(func(dir *os.File) error { … })   // every process forked in there begins its life in the group
//	use := group.Use()                                 // how much it has used, and whether memory killed in it
//	err = group.Remove(ctx)                            // kills the processes that are left, and waits for them
//
// No library is used, because this package writes only about six files. The usual library brings eBPF, D-Bus and a
// logger into a program that runs once beside each sandbox.
package cgroups
