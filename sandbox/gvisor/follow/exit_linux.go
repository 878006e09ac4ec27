package follow

import (
	"fmt"
	"slices"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
)

// The exit codes of an agent that a signal ended: a KILL, or an ABRT for a sentry that breaks down.
const (
	killedCode = 128 + 9
	brokenCode = 128 + 6
)

// ownCodes are those with which a sentry ends that breaks down: Go's runtime with the first, gVisor's code with the other.
// Init may end with them, too; then the sentry has said nothing.
var ownCodes = []int{2, 128}

// ExitOf reads an end. The sentry ends as init does. Where it ends otherwise, the keeper has seen that all the same, so that
// it is known how the sandbox ended: by a signal. It is not lost, and must not count as lost. A child that finds a flaw in the
// sentry can end it whenever it likes, and what is lost may be attempted again.
func ExitOf(end keeper.End) sandbox.Exit {
	exit := sandbox.Exit{
		StartedAt: end.StartedAt, FinishedAt: end.FinishedAt, FinishedIn: end.FinishedIn, PeakMemory: end.Use.PeakMemory, CPUTime: end.Use.CPUTime,
		OutOfMemory: end.Use.Killed > 0,
	}
	switch {
	case !end.Started:
		exit.Unknown, exit.Why = true, "gVisor did not start it: "+end.Trouble
	case end.Signal != 0 && (end.Asked || exit.OutOfMemory):
		exit.Code = killedCode
	case end.Signal != 0:
		exit.Code, exit.Why = 128+end.Signal, fmt.Sprintf("gVisor's kernel was killed by signal %d, and with it all processes of the sandbox", end.Signal)
	case end.Trouble != "" && slices.Contains(ownCodes, end.Code):
		exit.Code, exit.Why = brokenCode, "gVisor's kernel broke down, and with it all processes of the sandbox: "+end.Trouble
	default:
		code, known := runfile.AgentExit(end.Code)
		exit.Code, exit.Unknown = code, !known
	}
	return exit
}
