// Package approvals has the desk of one run: where its agent's questions arrive, wait, are decided, and from where decisions leave.
//
//	adapter ──Ask──► Desk ── policy ──► decided at once ──┐
//	                  │                                   ├──► journal ──► Answers ──► adapter ──AskTaken──► done
//	                  └── waits ◄── parent, operator ─────┘
//	                        └────── its time, the run's end: denied
//
// A decision is in the journal before it leaves. A watcher that dies in between leaves it to the next one, which sends it again; the
// adapter takes the first one and says so. Questions come again too, when output is read a second time, and because each attachment has the
// adapter tell again what waits: output can be lost, and with it a question. A question is known by its agent's name and its digest. A name that comes back with another call is refused, so nothing that was decided ever counts for it.
//
// What arrives is a hostile child's word. Questions have a rate and a number; what is over that is denied without a record.
package approvals
