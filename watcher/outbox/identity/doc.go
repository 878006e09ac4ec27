// Package identity finds out which outbox a directory is. The directory decides, and not the name that the configuration gives it (I21):
// an outbox keeps its id in the journal when it is renamed or moved.
//
//	identify   pair each configured directory with a known outbox by the directory's lasting numbers, and decide about the rest
//	elsewhere  say why a name that leads to another directory than its outbox's is not served
//	accept     an operator says what such a directory is
//	served     what a watcher wrote into a directory when it served it
//
// A directory that no outbox has is taken for the outbox of its name where nothing is unfinished and it lies on the file system of the
// directory before it: then that one was removed or moved away, and no disk is missing. Anything else waits for the right
// directory, which is served again by itself, or for an operator.
//
// What lies in a directory that was last served under another journal, or as another outbox, may have run already: it is looked through once
// before anything there runs (Claim.Lost).
//
// # What can fail
//
// The journal fails, or a directory cannot be looked at: nothing is identified, and the watcher does not start.
package identity
