package run

import (
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// TestAWorkspaceThatGoesAwayBehindARun: what had ended by then did nothing wrong.
func TestAWorkspaceThatGoesAwayBehindARun(t *testing.T) {
	for state, want := range map[sandbox.HandleState]delegation.Reason{
		sandbox.HandleExited: "", sandbox.HandleRunning: delegation.ReasonWorkspaceLimit,
	} {
		t.Run(string(state), func(t *testing.T) {
			runs := runsOf(t)
			r := runs.newRun(Request{}, sandbox.Spec{}, deaf{})
			r.workplace.holdErr = errReplaced
			began := make(chan struct{})
			close(began)
			r.workplace.watch(t.Context(), began, state)
			if got := r.Cause(); got != want {
				t.Errorf("it is ended as %q, want %q", got, want)
			}
		})
	}
}
