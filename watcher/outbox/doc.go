// Package outbox is one served directory: what lies there is noticed, read, admitted or refused, and what the host writes there is
// written.
//
//	inotify, listing ──► look ──► read once, hostile ──► decode ──► compile ──► journal ──► run
//	                      │                                  └──────────┴────────► refuse: an answer, never a silence
//	                      └──► sentinel, request gone, another request in its place ──► Run.Stop
//
// One goroutine, Watch, reads requests of an outbox, so a flood in one delays its own parent alone. Nothing here trusts an event: an
// event names a file, and the file is looked at; a listing stands behind the events. What a parent can bring about at will costs at most
// a share of a core (package limit).
//
// An Admission is a request that was admitted: what a run is made from, and its way back to the client. Through it a run asks whether
// its client still waits, tells its status, publishes live output and answers.
//
// Which outbox a directory is, package identity finds out before anything is read from it. An outbox whose name leads elsewhere is
// not served.
//
//	scan       what is looked at next, and what that costs: events, listings, what is due again (watch, cancel, later, costs)
//	admitter   from a file to the queue, or to a refusal and its answer (intake, admit, answer, may_have_run)
//	sweeper    what clients and earlier watchers left behind (orphans)
//	Outbox     what the host writes there, and whether it may (outbox, away, gone, statuses, live)
//	Admission  what a run is made from, and its way back to the client (client, take_up)
//
// # What can fail
//
// Reading fails: the request is refused, with a response (I11). The journal fails: nothing is admitted, and the outbox is looked at
// again. A file cannot be written: what is due is tried again each second. The directory goes away: nothing is missed in it, and the
// listing after its return finds what came.
package outbox
