// Package lay describes the mounts of a slot, that is, the file tree of a sandbox. If the watcher may not mount because
// it runs as an ordinary user, the package also makes these mounts. An ordinary user may mount only in a namespace of
// its own, which begins with a process and ends with its last process. So the launcher writes a plan, and the keeper,
// which lives as long as its sandbox, carries it out.
//
// The launcher:
//
//	plan := lay.Plan{Slots: dir, Slot: slot.Number(), Views: lay.Views{Mounts: found}} // plain data
//	err := plan.Show("/usr", "usr")                                                    // adds to the plan, like Stack
//	attr := lay.Apart()                                                                // how to start the keeper
//
// The keeper, before it starts anything:
//
//	err := order.Plan.Lay(first)
//
// Lay promises: it finds the directories of a request again without following a link, beneath the same roots, and makes
// sure by device and inode that they are the directories that the launcher found. Clones of them lie in the slot where
// the launcher would have placed them. No process outside the namespace sees these mounts, and none is left when the
// sandbox has ended. After Lay the process has no capability any more, not even in its own namespace.
//
// The mounts differ from root's mounts in two ways. First, the namespace has no ids of other users, so no id is
// exchanged. Second, mounts below a directory cannot be left out. So Lay refuses a request for a directory with mounts
// below it (mounts.ErrBelow), and covers mounts below the host's programs with an empty directory or file.
//
// Lay fails on a machine that gives ordinary users no namespaces, or no rights in them. Then nothing was started.
package lay
