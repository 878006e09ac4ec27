package schedule

import (
	"container/list"

	"torno/delegation"
	"torno/sandbox"
)

// Run is the run that a ticket stands for. The loop calls its methods, so none may block.
type Run interface {
	Launch()                     // the run has a slot and starts
	Dismiss(delegation.Reason)   // the run ends in the queue, without a start
	End(delegation.Reason)       // asks the run to end
	EndAsked() delegation.Reason // the first reason for which the run was asked to end, also after its end; or ""
	Show(position int)           // tells the client its position in the queue
}

// Subject is a subagent of an outbox. It can have one run at a time.
type Subject struct {
	Outbox   string
	Subagent delegation.SubagentID
}

// Ticket is a run's place in the schedule. The owner of the run fills the exported fields before it hands the ticket to
// the schedule. Everything else belongs to the loop.
type Ticket struct {
	Run      Run
	Lane     string // the name of its outbox's lane
	Subject  Subject
	Bytes    int64               // the memory of the run while it waits
	Above    []sandbox.Directory // the workspace and the directories above it, at the last look
	Anywhere bool                // the workspace's directory is not known
	Admitted bool                // by an earlier watcher, so no limit of the queue turns the run away
	Needs    bool                // the run does not start while another run waits for something beside a slot

	state       ticketState
	exited      bool         // see Exited
	reservation *reservation // nil if the run stands in no line
	nextAttempt *Ticket      // the run's next attempt, which waits for this one
	turn        int          // in its outbox's queue
	rank        int          // in the heap of its lane's ready runs; -1 if it is not there
	queued      *list.Element
	taken       chan struct{} // closed when a run that wants its slot back has one
}

// ticketState tells how far a ticket has come.
type ticketState int

const (
	unscheduled ticketState = iota // not submitted yet, or over
	inQueue
	inSlot
	setAside // without a slot; its workspace and its subagent stay reserved
	waiting  // like setAside, until its need can be met
	comeback // like setAside, until there is a slot for it again
)

// Lane describes an outbox to the schedule.
type Lane struct {
	Name       string
	MaxRunning int
	Queue      int  // how many may wait
	QueueBusy  bool // if its workspace is in use, a run waits instead of being refused
}
