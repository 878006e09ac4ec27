// Package schedule decides which run goes next.
//
//	submit ──► lane of its outbox ──► a slot ──► removing ──► over
//	             waits for:            the run     no process is left; slot
//	             its subagent          launches    and workspace stay taken
//	             its workspace
//	             a slot
//
// Each run has a Ticket. Submit puts the ticket into the lane of its outbox and into the lines of its subagent and its
// workspace. The run is launched when no earlier run is in its way in any of these lines and two slots are free: one of
// its outbox and one of the watcher. Outboxes take turns. Finished lets the next runs through.
//
// A run may need something beside its slot, and may find out in its slot that it cannot have it yet. It then gives the
// slot back (GiveBack), and takes one again when it can have it (TakeBack). Meanwhile no other run with needs starts,
// so that runs without needs can use all slots.
//
// One goroutine, Loop, owns all state, including the unexported fields of a Ticket; all methods send it functions. It
// does no input or output, so it never waits. The loop calls the methods of a Run, so they must not block.
package schedule
