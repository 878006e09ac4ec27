// Package budget decides what may be spent before it is spent, and remembers it.
//
// A request counts for several scopes at once: its run, its subagent, the whole tree of its parent, and its outbox on
// this day. Each scope has limits on input tokens, output tokens, requests, money and parallel requests. An absent
// limit limits nothing; a limit of 0 allows nothing. Before a request leaves, the ledger takes an upper bound of its
// cost (package prices) out of all its scopes, or out of none. After the answer, the real cost (package usage) replaces
// that bound:
//
//	ledger, err := budget.Open(dir, now)
//	r, err := ledger.Reserve(ctx, claims, bound, false) // *budget.Spent: answer with its text, in the form of the route's API
//	…the exchange…
//	err = r.Settle(cost)       // the answer told its usage
//	err = r.SettleUnknown()    // it did not: the reservation counts
//	err = r.Cancel()           // not one byte of the request was sent
//
// # What is promised
//
//   - The ledger never counts less than was spent. A reservation is in the file before Reserve returns. It counts until
//     it is settled; if the process is killed first, it counts for ever. Sums stop at the highest number and never turn
//     low.
//   - This holds after a power cut too, although most reservations are not flushed. About one reservation in aheadBy
//     also notes how much its scopes may cost ahead, and is flushed. After another start of the machine that much
//     counts.
//   - A request is refused only if it would not fit even without all requests under way. Otherwise it waits for them.
//   - A share of each limit (KeepForLast) is kept for final answers. The caller says which requests are final.
//   - A day has its budget once. Days go by a believed clock (package calendar). If that clock is set back, spending
//     that was noted under later days counts for today, until the next day begins.
//   - Only one process has the ledger (*HeldError). If a line is damaged in a way that no sudden stop explains, Open
//     says so and does not mend it (*DamagedError): the spending is then unknown, so the operator decides.
//
// An answer can cost more than its bound. The ledger believes and counts that. So requests under way can overdraw a
// limit; after that the limit allows nothing more.
//
// # The file
//
// Each line is a checksum and a record. A process begins with a line that names its boot, and ends with an end line.
// Between them are reserve, settle, forget and day. A line is one write, so a kill leaves whole lines and at most the
// beginning of one. Before its first and its last line, a process flushes all earlier lines. It also flushes each line
// that lets scopes cost more. From this follows which damage a power cut explains (isTail). A book (book.go) is the sum
// of the lines. The same code applies a line when it is written and when it is read. When most lines are history, the
// process writes a new ledger beside the old one and renames it.
package budget
