// Package budget decides what may be spent before it is spent, and remembers it.
//
// A request counts for several scopes at once: its run, the subagent, the whole tree of a parent, an outbox on this day. Each
// has limits on tokens in and out, requests, money and requests at a time. A limit that is absent is none; one of 0 allows
// nothing. Before the request leaves, an upper bound of what it may cost (package prices) is taken out of all of them or
// of none; after its answer what it did cost (package usage) takes the bound's place:
//
//	ledger, err := budget.Open(dir)
//	r, err := ledger.Reserve(ctx, claims, bound, false) // *budget.Spent: answer with its text, in the form of the route's API
//	…the exchange…
//	err = r.Settle(cost)       // the answer told its usage
//	err = r.SettleUnknown()    // it did not: what was reserved counts
//	err = r.Cancel()           // not one byte of the request was sent
//
// # What is promised
//
//   - Never less is counted than was spent. A reservation is in the file before Reserve returns, and counts until it is
//     settled: after a kill for ever. Sums stop at the highest number and never turn low.
//   - A power cut keeps that promise although most reservations are not flushed: about one in aheadBy also says what its
//     scopes may cost ahead, is flushed, and after another start of the machine that much counts.
//   - A request is refused only if it does not fit although all requests under way were free. Else it waits for them.
//   - A share of each limit (KeepForLast) is left for final answers: for requests of which the caller says so.
//   - A day has its budget once. The day is that of a believed clock (package calendar), which may be set back all the same: what was
//     noted under later days counts for today then, until the next day begins.
//   - One process has the ledger (*HeldError). Damage that no sudden stop explains is said and not mended (*DamagedError):
//     what was spent is not known then, so the operator decides.
//
// An answer can cost more than its bound; that is believed and counts, so a limit can be overdrawn by what an upstream
// adds to the requests under way, and allows nothing more then.
//
// # The file
//
// Each line is a checksum and a record; a process begins with one that has its boot and ends with another, between them are
// reserve, settle, forget and day. A line is one write, so a kill leaves whole lines and at most the beginning of one. Before the
// first and the last line of a process all others are flushed; so is a line that lets scopes cost more. What a power cut
// explains follows from that (isTail). A book (book.go) is what the lines amount to, and the same code applies a line when
// it is written and when it is read. When most lines are of the past the ledger is written anew beside itself and renamed.
package budget
