// Package carry copies files between a parent's directories and its children's directories: files for a child before it
// starts, and files to keep after it has ended.
//
//	given, err := carry.Any(ctx, parentWorkspace, "src", childWorkspace, carry.DefaultLimits)
//	kept, err := carry.Tree(ctx, childWorkspace, logs, carry.DefaultLimits, "node_modules")
//	err = carry.Put(childWorkspace, "CONTEXT.md", text)
//
// # Promises
//
// Either end may have been in the hands of a child. So the package works by handle, one name at a time, and follows no
// link. It copies only regular files with a single name, and only up to a bound of files, bytes and depth. It writes a
// file beside its place under a new name and then renames it, so it never writes through a link or into a file that has
// a second name. Where possible, a file belongs to the owner of the directory that receives it.
package carry
