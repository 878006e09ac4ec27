// Package patch takes a child's work back as a patch: it copies a directory into a new workspace, remembers what it
// copied, and later shows, fetches or applies what the child made of it.
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
// The child's tree is hostile, and may change at any moment. It is walked by handle, one name at a time, never
// through a link, never onto another file system, within bounds of entries, bytes, names and depth. Only regular
// files with one name are opened. Decisions are taken on a copy: what Take has staged in a directory of the parent's
// own is what a diff shows, what a plan judges and what is written.
//
// What was copied, the base, lies in the parent's own state directory, where no child and no other user of the
// outbox can write. It belongs to the workspace that was filled and to the directory that was copied, and not to
// their paths. Without it nobody could tell what the child has changed.
//
// A git directory is never copied, compared or written, whatever its name looks like, nor is Mercurial's or another
// program's of the kind. A child that had the parent's would find remotes with passwords, hooks and alternates; one of the child's would run its
// hooks and its configuration in the parent's place. The parent's git is run to say where the parent's hooks lie (githooks.go), and to fetch the
// parent's commits into a repository that the copy gets (history.go).
//
// A plan is carried out only where all of it can be. Refused are links that leave the tree, set-id files, devices
// and the like, names that cannot be seen, and names that other file systems take for the same. What may run by
// itself needs a word of the parent's: asked.go has the rule, autorun.txt the list of names. Nothing is written to the outbox or to the parent's state
// directory, wherever they lie. One apply is done at a time. After a crash the same command goes on: what is written
// already is found as such.
//
// # What the parent saves meanwhile
//
// Nothing that the parent has saved is removed unseen, wherever an apply is killed. Each step uses two names beside
// its place:
//
//	.torno-ID               what the apply writes; never the parent's
//	NAME.torno-kept-DIGEST  what was taken out of its place, or is about to be exchanged; it may be the parent's
//
// To replace a file, the apply writes the first, renames it to the second, exchanges that with the file in its
// place, compares what came out with what the plan knows, and removes it. To delete a file, it renames it to the
// second, compares, and removes it. What came out and is not known goes back: to a free place, or in exchange for
// what the apply has put there. What comes out of that exchange is compared too. If the parent has been faster, the
// file stays under its second name, and the error says so. Where names cannot be exchanged (NFS, macOS), a file that is
// replaced is taken out as one that is deleted, and for a moment there is nothing in its place.
//
// The marker (applying-DIGEST.json, one for each directory) is on the disk before the first step, with what each
// step expects to take out and what it puts there. Interrupted reads it and does the same with what it finds: its
// own and what is known go, all else goes back or stays, and is named. It ends with a flush, as the next marker
// forgets this one. Versions without the second name have exchanged the parent's files with .torno-ID: what a marker
// of theirs leads to stays, and is named.
//
// Not seen is what a program writes into a file that it has opened before the file was taken out, after the
// comparison.
package patch
