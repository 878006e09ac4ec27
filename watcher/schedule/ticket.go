package schedule

import (
	"container/list"

	"torno/delegation"
	"torno/sandbox"
)

// Run is the run that a ticket is for. The loop calls it, so no method may block.
type Run interface {
	Launch()                   // the run has a slot and starts
	Dismiss(delegation.Reason) // the run ends in the queue, without a start
	End(delegation.Reason)     // asks the run to end
	Cause() delegation.Reason  // why the run must end, "" where it may go on
	Show(position int)         // tells its client its position in the queue
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
	Bytes    int64               // the memory that the run takes while it waits
	Above    []sandbox.Directory // its workspace and the directories above it, when they were last looked at
	Anywhere bool                // its workspace's directory is not known
	Needs    bool                // it does not start while another run waits for what it needs beside a slot

	state       ticketState
	reservation *reservation // nil when it stands in no line
	nextAttempt *Ticket      // of its run; it waits for this one
	turn        int          // in its outbox's queue
	rank        int          // in the heap of its lane's ready runs; -1 when it is not there
	queued      *list.Element
	taken       chan struct{} // closed when a run that wants its slot back has one
}

// ticketState says how far a ticket has come.
type ticketState int

const (
	unscheduled ticketState = iota // not submitted yet, or over
	inQueue
	inSlot
	setAside // without a slot; its workspace and its subagent stay reserved
	waiting  // the same, until it can have what it needs beside a slot
	comeback // the same, until there is a slot for it again
	removing // its last process is gone; its slot and its workspace stay taken until the sandbox is removed
)

// hasSlot says whether a ticket in this state takes a slot.
func (s ticketState) hasSlot() bool { return s == inSlot || s == removing }

// Lane is what the schedule knows of an outbox.
type Lane struct {
	Name       string
	MaxRunning int
	Queue      int  // how many may wait
	QueueBusy  bool // a run whose workspace is in use waits instead of being refused
}
