// Package schedule decides which run goes next.
//
//	submit ──► lane of its outbox ──► a slot ──► removing ──► over
//	             waits for:            the run     no process is left; slot
//	             its subagent          launches    and workspace stay taken
//	             its workspace
//	             a slot
//
// A run has a Ticket. Submit puts the ticket into the lane of its outbox and into the lines of its subagent and its workspace.
// It is launched when no earlier run is in its way in any of these lines and a slot is free: one of its outbox and one of
// the watcher. Outboxes take turns. Finished lets the next ones through.
//
// A run that finds out, in its slot, that it cannot have something else that it needs gives the slot back (GiveBack), and takes one again
// when it can (TakeBack). Meanwhile no other run with needs starts, so that those without have all slots.
//
// One goroutine, Loop, owns all state, also the unexported fields of a Ticket; all methods send it functions. It does no
// input or output, so it never waits. The methods of a Run are called in the loop and must not block.
package schedule
