// Package identity finds out which outbox a directory is. The directory decides, and not the name that the configuration gives it (I21):
// an outbox keeps its id in the journal when it is renamed or moved.
//
//	identify   pair each configured directory with a known outbox by the directory's lasting numbers, and decide about the rest
//	elsewhere  say why a name that leads to another directory than its outbox's is not served
//	accept     an operator says what such a directory is
//	served     what a watcher wrote into a directory when it served it
//
// Where a name leads to a directory that no outbox has, the outbox of that name goes on in it if nothing is unfinished, no request lies there, and what
// belongs there can come no more: it lay on a tmpfs of an earlier boot, or a person who runs the watcher by hand has made the directory anew. Anything
// else waits for the right directory, which is served again by itself, or for an operator.
//
// What lies in a directory that was last served under another journal, or as another outbox, may have run already: it is looked through once
// before anything there runs (Claim.Lost).
//
// # What can fail
//
// The journal fails, or a directory cannot be looked at: nothing is identified, and the watcher does not start.
package identity
