// Package identity finds out which outbox a directory is. The directory decides, and not the name that the
// configuration gives it (I21): an outbox keeps its id in the journal when it is renamed or moved.
//
//	identify   pairs each configured directory with a known outbox by the directory's lasting numbers;
//	           decides about the rest
//	elsewhere  explains why an outbox is not served whose name leads to another directory
//	accept     lets an operator decide which outbox such a directory is
//	served     reads the mark that a watcher leaves in a directory that it serves
//
// If a name leads to a directory that belongs to no outbox, the outbox of that name goes on there if three conditions
// hold: nothing is unfinished, no request lies there, and the earlier directory cannot come back. The last one holds if
// the earlier directory lay on a tmpfs of an earlier boot, or if a person who runs the watcher by hand has made the
// directory anew. Otherwise the outbox waits for an operator, or for the right directory; when that is back, it is
// served again without help.
//
// If a directory was last served under another journal or as another outbox, the requests there may have run already.
// They are looked through once before anything there runs (Claim.Lost).
//
// # What can fail
//
// The journal fails, or a directory cannot be examined: nothing is identified, and the watcher does not start.
package identity
