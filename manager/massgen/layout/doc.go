// Package layout writes the files in which MassGen keeps its subagents, so that its screens and its other agents find them:
//
//	{workspace}/subagents/_registry.json        which children there were, and how each is continued
//	{workspace}/subagents/_spawn_status.json    what the last blocking call has come to
//	{workspace}/subagents/{id}/_metadata.json   whose child it is
//	{workspace}/subagents/{id}/_task.md         its whole task, of which the registry has the beginning; ours
//	{workspace}/subagents/{id}/workspace        its workspace, or a link to it
//	{logs}/subagents/{id}/live_logs             a link to where the child writes its logs
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
// Everything goes by handle beneath the directory that was given, through no link, under names that were parsed. A file is written
// beside its place, flushed and renamed, and its directory is flushed: after a crash there is the old one or the new one.
// A registry is read as a stranger's: bounded, a regular file with one name, in both forms that MassGen has had; an entry whose id
// no file can have is left out.
package layout
