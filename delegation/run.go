package delegation

import "strings"

// State is the stage that a run has reached. StateWaiting means that it waits for an approval.
type State string

// The states of a run, in order.
const (
	StateQueued   State = "queued"
	StateStarting State = "starting"
	StateRunning  State = "running"
	StateWaiting  State = "waiting"
	StateEnded    State = "ended"
)

// Reason says why a run ended. The first cause wins.
type Reason string

// The reasons for an end.
const (
	ReasonExited         Reason = "exited"          // the host saw an exit code
	ReasonSignalled      Reason = "signalled"       // the agent died of a signal that the host did not send
	ReasonOutOfMemory    Reason = "out_of_memory"   // the memory limit killed it
	ReasonWorkspaceLimit Reason = "workspace_limit" // the workspace grew over its limit
	ReasonDeadline       Reason = "deadline"        // timeout_seconds went by
	ReasonCancelled      Reason = "cancelled"       // by its client's sentinel
	ReasonOperator       Reason = "cancelled_by_operator"
	ReasonSuperseded     Reason = "superseded"   // another request of the same subagent took its place
	ReasonClientGone     Reason = "client_gone"  // the request file went away
	ReasonParentEnded    Reason = "parent_ended" // the run that its parent_id named ended
	ReasonRefused        Reason = "refused"      // policy; see the code
	ReasonLaunchFailed   Reason = "launch_failed"
	ReasonBudget         Reason = "budget" // its agent failed after a budget had refused it its model
	ReasonLost           Reason = "lost"   // interrupted by a restart of the watcher
	ReasonShutdown       Reason = "shutdown"
)

// Words returns the reason as people read it, for instance "timed out" for a deadline.
func (r Reason) Words() string {
	if r == ReasonDeadline {
		return "timed out"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// Wire returns version 1's status for a run that ended for this reason. exit counts only for ReasonExited.
func (r Reason) Wire(exit int) Status {
	switch r {
	case ReasonExited:
		if exit == 0 {
			return StatusCompleted
		}
		return StatusError
	case ReasonDeadline:
		return StatusTimeout
	case ReasonCancelled, ReasonOperator, ReasonSuperseded, ReasonClientGone, ReasonParentEnded, ReasonShutdown:
		return StatusCancelled
	default:
		return StatusError
	}
}

// Status is one of the four words of wire version 1.
type Status string

// The statuses of wire version 1.
const (
	StatusCompleted Status = "completed"
	StatusError     Status = "error"
	StatusTimeout   Status = "timeout"
	StatusCancelled Status = "cancelled"
)
