// Package carry copies files between a parent's directories and those of its children: what a child is given before it starts, and what
// is kept of it when it has ended.
//
//	given, err := carry.Any(ctx, parentWorkspace, "src", childWorkspace, carry.DefaultLimits)
//	kept, err := carry.Tree(ctx, childWorkspace, logs, carry.DefaultLimits, "node_modules")
//	err = carry.Put(childWorkspace, "CONTEXT.md", text)
//
// # Promises
//
// Both ends may have been a child's. Everything goes by handle, one name at a time, through no link; only regular files with one name
// are copied, up to a bound of files, bytes and depth. A file comes beside its place under a name that was not there, and is renamed, so that
// no link and no second name is written through. It belongs to the owner of the directory that it is put into, where that is possible.
package carry
