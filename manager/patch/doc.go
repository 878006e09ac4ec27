// Package patch takes a child's work back as a patch. It copies a directory into a new workspace and remembers the
// copied files. Later it shows, fetches or applies the child's changes.
//
//	store, _ := patch.OpenStore(stateDir, outbox)
//	report, _ := store.Copy(ctx, "/src", destination, patch.DefaultHow)    // before the child starts
//	work, _ := store.Take(ctx, id, workspace, patch.Selection{})           // its changes, held apart from the child
//	origin, _ := work.Origin()                                             // the directory itself that was copied
//	plan, _ := work.Plan(ctx, work.Base.Origin, origin)                    // three sides: base, child's, today's
//	applied, _ := plan.Apply(ctx)
//
// # Promises
//
// The child's tree is hostile and may change at any moment. The package walks it by handle, one name at a time, never
// through a link and never onto another file system, within bounds of entries, bytes, names and depth. It opens only
// regular files with one name. It decides on a copy: Take stages the changes in a directory of the parent's own, and a
// diff shows, a plan judges and an apply writes only these staged files.
//
// The base records the copied files. It lies in the parent's own state directory, where no child and no other user of
// the outbox can write. It belongs to the workspace that was filled and to the directory that was copied, not to their
// paths. Without the base nobody could tell which files the child changed.
//
// The package never copies, compares or writes a git directory, however its name is spelled, nor the directory of
// Mercurial or a similar program. If a child had the parent's git directory, it would find remotes with passwords,
// hooks and alternates. If the parent got a child's git directory, the child's hooks and configuration would run with
// the parent's rights. The package runs the parent's git for three things: to find out where the parent's hooks lie
// (githooks.go), to find out which paths git ignores (ignored.go), and to fetch the parent's commits into a new
// repository for the copy (history.go).
//
// A plan is carried out only as a whole. It refuses links that leave the tree, set-id files, devices and the like,
// names that cannot be seen, and names that other file systems take for the same. Files that may run by themselves need
// the parent's consent: asked.go has the rule, autorun.txt the list of names. Nothing is written to the outbox or to
// the parent's state directory, wherever they lie. Only one apply runs at a time. After a crash the same command
// continues: it finds the steps that were already done.
//
// # What the parent saves meanwhile
//
// An apply never removes unseen a file that the parent has saved, wherever the apply is killed. Each step uses two
// names beside its place:
//
//	.torno-ID               the file that the apply writes; never the parent's
//	NAME.torno-kept-DIGEST  a file that was taken out of its place, or is about to be exchanged; it may be the parent's
//
// To replace a file, the apply writes the new content under the first name and renames it to the second name. Then it
// exchanges the second name with the file in its place, compares the file that came out with the plan's knowledge, and
// removes it. To delete a file, the apply renames it to the second name, compares, and removes it. If the plan does not
// know the file that came out, the file goes back: to a free place, or in exchange for the file that the apply has just
// put there. The apply compares the file that comes out of this exchange too. If the parent was faster, the file stays
// under its second name, and the error says so. Some systems cannot exchange names (NFS, macOS). There the apply takes
// out a file that it replaces as if it deleted the file, and for a moment nothing is in its place.
//
// The marker (applying-DIGEST.json, one for each directory) is on the disk before the first step. For each step it
// names the entry that the step expects to take out and the entry that it puts there. Interrupted reads the marker and
// treats the files that it finds in the same way: it removes its own files and the files that the plan knows; every
// other file goes back or stays, and is named. It ends with a flush, because the next marker overwrites this one.
// Versions without the second name exchanged the parent's files with .torno-ID. If a marker of theirs leads to a file,
// the file stays and is named.
//
// One thing stays unseen: a program may have opened a file before the apply took it out, and may write into it after
// the comparison.
package patch
