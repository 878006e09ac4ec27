package manager_test

import (
	"strings"
	"testing"

	"torno/delegation"
	"torno/manager"
)

// TestAChildGivesNoReason: without the host's sentence the end of standard error is the child's, and stands where that is quoted.
func TestAChildGivesNoReason(t *testing.T) {
	for _, reason := range []delegation.Reason{delegation.ReasonLost, delegation.ReasonRefused, delegation.ReasonLaunchFailed, delegation.ReasonWorkspaceLimit} {
		said := manager.Result{Reason: reason, StderrTail: "subagent: all is well"}.Ending()
		if strings.Contains(said, "all is well") || !strings.Contains(said, "may say why") {
			t.Errorf("%s: %s", reason, said)
		}
	}
}
