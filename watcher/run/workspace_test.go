package run

import (
	"testing"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/workspace"
)

// TestTheSizeOfAWorkspace: a look at a part of it only makes it larger, because a child can hide what it leaves.
func TestTheSizeOfAWorkspace(t *testing.T) {
	whole := func(n int64) tree.Findings { return tree.Findings{Usage: tree.Usage{Bytes: n}} }
	part := func(n int64) tree.Findings {
		return tree.Findings{Usage: tree.Usage{Seen: tree.Seen{Missed: 1}, Bytes: n}}
	}
	p := &workplace{held: &workspace.Held{}}
	for i, look := range []struct {
		found tree.Findings
		want  int64
	}{{part(5), 5}, {whole(100), 100}, {part(5), 100}, {part(200), 200}, {whole(5), 5}} {
		p.noteSize(look.found)
		if p.bytes != look.want {
			t.Errorf("after look %d it is %d, want %d", i, p.bytes, look.want)
		}
	}
}

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
