package follow

import (
	"fmt"
	"slices"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
)

// These are the exit codes of an agent that was ended by a signal: KILL, or ABRT if the sentry broke down.
const (
	killedCode = 128 + 9
	brokenCode = 128 + 6
)

// ownCodes are the exit codes of a sentry that breaks down: the first comes from Go's runtime, the second from gVisor's
// code. Init may end with these codes too; then the sentry has written nothing.
var ownCodes = []int{2, 128}

// ExitOf translates an end. Normally the sentry ends with init's code. If it ends in another way, the keeper has still
// seen it, so the end is known: a signal. Such a run is not lost and must not count as lost: a lost run may be
// attempted again, and a child that finds a flaw in the sentry can end it whenever it likes.
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
