package run

import (
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

// unknownCode is the exit code that a launcher reports for a sandbox that ended while the launcher itself was dead, for
// example after a power cut. It proves nothing if no attachment saw the end, and the launcher does not know when it was.
const unknownCode = 255

var errUnknownEnd = errors.New("the watcher did not see how it ended")

var errAbandoned = errors.New("the watcher stopped at the moment when it released the sandbox")

// judge decides how a run ended, from the exit that the host saw. unseen: the sandbox was out of sight, or had ended
// before anybody looked. The first cause wins. The recorded end, not an exit code, decides whether it was the deadline:
// the sandbox may have ended in time while no watcher was there, or may have been ended by its own backstop.
func (r *runner) judge(exit sandbox.Exit, unseen bool) *outcome {
	v := verdict{exit: exit}
	if exit.Why != "" && !exit.Unknown {
		r.warnings = append(r.warnings, "The sandbox itself broke down: "+exit.Why+".")
	}
	reason := r.Cause()
	if reason == delegation.ReasonDeadline && r.release.endedInTime(r.allowed(exit), exit) {
		reason = ""
	}
	if r.endedBefore && (reason == delegation.ReasonShutdown || reason == delegation.ReasonParentEnded) {
		reason = "" // what happens to this watcher, or to the run's parent, came later
	}
	switch {
	case reason != "":
		v.reason = reason
	case exit.Unknown:
		return lost(whyUnknown(exit))
	case !r.out.Started && exit.Code == runfile.AbandonedExit:
		return lost(errAbandoned)
	case !r.out.Started:
		return notStarted(r.out.Failure, exit)
	case unseen && exit.Code == unknownCode && exit.FinishedIn.IsZero():
		return lost(errUnknownEnd)
	case r.release.overran(r.allowed(exit), exit):
		v.reason = delegation.ReasonDeadline
	case exit.OutOfMemory && exit.Code != 0:
		v.reason = delegation.ReasonOutOfMemory
	case exit.Code > 128 && exit.Code <= 128+64:
		v.reason = delegation.ReasonSignalled
	default:
		v.reason = delegation.ReasonExited
		if exit.OutOfMemory {
			r.warnings = append(r.warnings, "A process of the run was killed because the memory limit was reached.")
		}
	}
	return ended(v)
}

func whyUnknown(exit sandbox.Exit) error {
	if exit.Why == "" {
		return errUnknownEnd
	}
	return errors.New(exit.Why)
}

// notStarted explains a sandbox whose init never ran the agent. Its exit code means nothing.
func notStarted(why error, exit sandbox.Exit) *outcome {
	if why == nil {
		why = fmt.Errorf("it ended with code %d before the agent was started", exit.Code)
	}
	code := delegation.CodeLaunch
	var said *runfile.NotStarted
	if errors.As(why, &said) && said.Failure == runfile.FailureMount {
		code = delegation.CodeMountProof
	}
	return ended(verdict{reason: delegation.ReasonLaunchFailed, exit: exit, refusal: &delegation.Refusal{
		Code: code, Text: "The sandbox did not start: " + why.Error(), Hint: "The operator can find out more with `watcher show` and `watcher check --try`.",
	}})
}

func failed(code delegation.Code, err error) *outcome {
	return ended(verdict{reason: delegation.ReasonLaunchFailed, refusal: &delegation.Refusal{
		Code: code, Text: "The sandbox could not be launched: " + err.Error(), Hint: "The operator can find out more in the watcher's log.",
	}})
}

func lost(err error) *outcome {
	return ended(verdict{reason: delegation.ReasonLost, refusal: &delegation.Refusal{
		Code: delegation.CodeLost, Text: "The sandbox was lost: " + err.Error(), Hint: "Ask again with a new request_id.",
	}})
}
