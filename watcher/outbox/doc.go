// Package outbox is one served directory: what lies there is noticed, read, admitted or refused, and what the host writes there is
// written.
//
//	inotify, listing ──► look ──► read once, hostile ──► decode ──► compile ──► journal ──► Carrier
//	                      │                                  └──────────┴────────► refuse: an answer, never a silence
//	                      └──► sentinel, request gone, another request in its place ──► Carrier.Stop
//
// One goroutine, Watch, reads requests of an outbox, so a flood in one delays its own parent alone. Nothing here trusts an event: an
// event names a file, and the file is looked at; a listing stands behind the events. What a parent can bring about at will costs at most
// a share of a core (package limit).
//
// An Admission is a request that was admitted: what a run is made from, and its way back to the client. Through it a run asks whether
// its client still waits, tells its status, publishes live output and answers.
//
// Identify finds out which outbox each directory is before anything is read: the directory decides, and not its name (I21). An outbox
// that leads elsewhere is not served until the right directory is back or an operator has decided.
//
// # What can fail
//
// Reading fails: the request is refused, with a response (I11). The journal fails: nothing is admitted, and the outbox is looked at
// again. A file cannot be written: what is due is tried again each second. The directory goes away: nothing is missed in it, and the
// listing after its return finds what came.
//
// There is one file for each thing that is noticed, decided or written here, so there are more of them than elsewhere: the files named
// identity are about which outbox a directory is, and the others about what lies in it.
package outbox
