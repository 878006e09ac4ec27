package schedule

import (
	"container/list"

	"torno/delegation"
	"torno/sandbox"
)

// Run is the run that a ticket is for. The loop calls it, so no method may block.
type Run interface {
	Launch()                   // it has a slot, and takes the road
	Dismiss(delegation.Reason) // it ends without having left the queue
	End(delegation.Reason)     // it is asked to end
	Cause() delegation.Reason  // why it must end, "" where it may go on
	Show(position int)         // its client is told where it stands
}

// Subject is what can have one run at a time.
type Subject struct {
	Outbox   string
	Subagent delegation.SubagentID
}

// Ticket is a run's place in the schedule. The owner of the run fills the exported fields before the schedule gets the
// ticket. Everything else belongs to the loop.
type Ticket struct {
	Run      Run
	Lane     string // the name of its outbox's lane
	Subject  Subject
	Bytes    int64               // what the run holds in memory while it waits
	Above    []sandbox.Directory // its workspace and what lies above it, when they were last looked at
	Anywhere bool                // the directory in which it works is not known

	place  place
	claim  *claim  // nil when it stands in no line
	heir   *Ticket // the next attempt of its run, which waits for it
	turn   int     // in its outbox's queue
	rank   int     // among those that are ready there; -1 when it is not
	queued *list.Element
}

// place is where a ticket is.
type place int

const (
	nowhere place = iota // not yet, or not any more
	inQueue
	inSlot
	aside   // it has no slot, and keeps its workspace and its subagent
	leaving // its run is dead, and holds its slot and its workspace until the sandbox is removed
)

// held says whether the ticket has a slot.
func (p place) held() bool { return p == inSlot || p == leaving }

// Lane is what the schedule knows of an outbox.
type Lane struct {
	Name       string
	MaxRunning int
	Queue      int  // so many may wait
	QueueBusy  bool // a run whose workspace is in use waits instead of being refused
}
