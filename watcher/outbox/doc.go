// Package outbox serves one directory: it notices, reads, admits or refuses the requests there, and writes the host's
// files there.
//
//	inotify, listing ──► look ──► read once, hostile ──► decode ──► compile ──► journal ──► run
//	                      │                                  └──────────┴────────► refuse: an answer, never a silence
//	                      └──► sentinel, request gone, another request in its place ──► Run.Stop
//
// One goroutine, Watch, reads all requests of an outbox, so a flood in one outbox delays only its own parent. The
// package does not trust events: an event only names a file, and then the package looks at the file. Listings find what
// the events missed. Work that a parent can cause at will costs at most a share of a core (package limit).
//
// An Admission is an admitted request. A run is made from it. Through the Admission the run asks whether its client
// still waits, tells its status, publishes live output and answers.
//
// Before anything is read from a directory, package identity finds out which outbox it is. If an outbox's name leads to
// another directory, the outbox is not served.
//
//	scan       decides what to look at next, and counts the cost: events, listings, second looks
//	           (watch, cancel, later, costs)
//	admitter   takes a file to the queue, or to a refusal and its answer (intake, admit, answer, may_have_run)
//	sweeper    removes what clients and earlier watchers left behind (orphans)
//	Outbox     writes the host's files, if it may (outbox, away, gone, statuses, live)
//	Admission  makes runs, and is their way back to the client (client, take_up)
//
// # What can fail
//
// A request cannot be read: it is refused, with a response (I11).
//
// The journal fails: nothing is admitted, and the outbox is looked at again.
//
// A file cannot be written: the watcher tries again each second.
//
// The directory goes away: a missing file does not count as removed. After the directory's return a listing finds what
// came.
package outbox
