// Package lay says what is laid in a slot, the file tree of a sandbox, and lays it where the watcher may not mount, because it
// is an ordinary user's. Such a user may mount in a namespace of its own, which begins with a process and ends with the last
// one. So the launcher writes down what is to be mounted, and the keeper, which lives as long as its sandbox, does it.
//
// The launcher:
//
//	plan := lay.Plan{Slots: dir, Slot: slot.Number(), Views: lay.Views{Mounts: found}} // plain data
//	err := plan.Show("/usr", "usr")                                                    // writes down; so does Stack
//	attr := lay.Apart()                                                                // how the keeper is to be started
//
// The keeper, before it starts anything:
//
//	err := order.Plan.Lay(first)
//
// What Lay promises: the directories of a request are found again without a link, beneath the same roots, and are the
// directories that the launcher has found, by device and inode; clones of them lie in the slot as the launcher would have placed
// them. No process outside the namespace sees its mounts, and nothing is left of them when the sandbox has ended. Afterwards the
// process has no capability any more, not even in its own namespace.
//
// What differs from root's mounts: there are no others' ids in the namespace, so no id is exchanged; what is mounted below a
// directory cannot be left out, so a request for such a directory is refused (mounts.ErrBelow), and what is mounted below the
// host's programs is covered by what is empty.
//
// What can fail: a machine that gives ordinary users no namespaces, or no rights in them; then nothing was started.
package lay
