// Package layout writes the files that MassGen uses to keep track of its subagents, so that its screens and its other
// agents find them:
//
//	{workspace}/subagents/_registry.json        which children there were, and how each is continued
//	{workspace}/subagents/_spawn_status.json    the state or the results of the last blocking call
//	{workspace}/subagents/{id}/_metadata.json   whose child it is
//	{workspace}/subagents/{id}/_task.md         its whole task; the registry has only the beginning; our own file
//	{workspace}/subagents/{id}/workspace        its workspace, or a link to it
//	{logs}/subagents/{id}/live_logs             a link to the place where the child writes its logs
//
// A Tree holds one of the two directories:
//
//	tree, err := layout.Open(workspace)      // *os.Root of the parent's workspace
//	err = tree.SaveRegistry(registry)
//	registry, err = tree.Registry()
//	err = tree.Update(func(r *layout.Registry) { ... }) // one process at a time
//
// # Promises
//
// The package works by handle beneath the given directory, follows no link, and uses only parsed names. It writes a
// file beside its place, flushes it, renames it, and flushes the directory. So after a crash there is either the old
// file or the new one. It reads a registry as a stranger's: bounded, and only from a regular file with a single name.
// It reads both forms that MassGen has had. It leaves out an entry whose ID no file can have.
package layout
