// Package approvals keeps the desk of one run. The agent's questions arrive there, wait and are decided, and the
// decisions leave from there.
//
//	adapter ──Ask──► Desk ── policy ──► decided at once ──┐
//	                  │                                   ├──► journal ──► Answers ──► adapter ──AskTaken──► done
//	                  └── waits ◄── parent, operator ─────┘
//	                        └────── its time, the run's end: denied
//
// A decision is in the journal before it leaves. If the watcher dies in between, the next watcher sends the decision
// again. The adapter takes the first copy and says so. Questions come again, too, for two reasons: output may be read a
// second time, and at each attachment the adapter is asked to repeat the questions that wait, because output can be
// lost, and a question with it. The desk knows a question by the agent's name for it and by its digest. If a name comes
// back with another call, the question is refused, so a decision never counts for another call.
//
// Everything that arrives is a hostile child's word. Questions are bounded in rate and number. A question over these
// bounds is denied without a record.
package approvals
