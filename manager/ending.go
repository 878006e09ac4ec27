package manager

import (
	"fmt"

	"torno/delegation"
)

// Ending describes in words how the run ended. The words are the host's; none of them is the child's.
func (r Result) Ending() string {
	switch r.Reason {
	case delegation.ReasonExited:
		if r.Completed() {
			return "completed"
		}
		return fmt.Sprintf("failed with exit code %d", r.ExitCode)
	case delegation.ReasonSignalled:
		return fmt.Sprintf("was killed, exit code %d", r.ExitCode)
	case delegation.ReasonOutOfMemory:
		return "used up its memory and was killed"
	case delegation.ReasonWorkspaceLimit:
		return "was ended because of its workspace" + r.reasonGiven()
	case delegation.ReasonBudget:
		return fmt.Sprintf("failed with exit code %d after the gateway had refused its model: the budget is used up", r.ExitCode)
	case delegation.ReasonDeadline:
		return "timed out and was ended"
	case delegation.ReasonCancelled:
		return "was cancelled"
	case delegation.ReasonOperator:
		return "was cancelled by the operator"
	case delegation.ReasonParentEnded:
		return "was ended because its parent ended"
	case delegation.ReasonSuperseded:
		return "was replaced by a later request"
	case delegation.ReasonClientGone:
		return "was ended because its request was withdrawn"
	case delegation.ReasonShutdown:
		return "was ended because the watcher stopped"
	case delegation.ReasonLost:
		return "was lost" + r.reasonGiven()
	case delegation.ReasonRefused:
		return "was refused" + r.reasonGiven()
	case delegation.ReasonLaunchFailed:
		return "could not be started" + r.reasonGiven()
	}
	return fmt.Sprintf("ended as %s with exit code %d", r.Status, r.ExitCode)
}

// reasonGiven returns the host's sentence. Without one it only points at the end of standard error, because the child
// may have written that.
func (r Result) reasonGiven() string {
	switch {
	case r.Error != nil && r.Error.Text != "":
		return ": " + r.Error.Text
	case r.StderrTail != "":
		return "; the end of its standard error may say why"
	}
	return "; the host has not said why"
}
