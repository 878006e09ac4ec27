// Package identity finds out which outbox a directory is: the directory decides, and not the name that the configuration gives
// it (I21). An outbox keeps its id in the journal when it is renamed or moved, and a name that leads to another directory is not
// served until the right directory is back, or an operator has decided.
//
//	identify   each configured name claims a directory; match by its numbers, then by name, path and what lies there
//	elsewhere  the name leads to another outbox's directory, or to one of which nothing is known while runs are unfinished
//	accept     an operator says what such a directory is
//
// What lies in a directory that a watcher with another journal served may have run already: it is looked through once before
// anything there runs (Claim.Lost).
//
// # What can fail
//
// The journal fails, or a directory cannot be looked at: nothing is identified, and the watcher does not start. Two directories
// that nothing tells apart are not guessed: one of them waits for the operator.
package identity
