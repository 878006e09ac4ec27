package stakpak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

// asking is a child that asks so many questions, and the ids of them.
func asking(n int) (child mcp.Child, ids []string) {
	child.Item = manager.Item{RequestID: "r"}
	for i := range n {
		a := delegation.PendingApproval{Approval: i + 1, Digest: strings.Repeat(fmt.Sprint(i), 64)}
		child.Approvals, ids = append(child.Approvals, a), append(ids, callID(a))
	}
	return child, ids
}

// decided is the numbers of the approved and of the denied questions.
func decided(v verdicts) string {
	var yes, no []int
	for _, one := range v.all {
		if one.as == delegation.Approve {
			yes = append(yes, one.asked.Approval)
		} else {
			no = append(no, one.asked.Approval)
		}
	}
	return fmt.Sprint(yes, no, v.unseen)
}

func tasksThatHaveShown(shown ...string) *tasks {
	t := newTasks()
	for _, id := range shown {
		t.noteShown(question{"", "r", id})
	}
	return t
}

// TestTheRuleOfDecisions is Stakpak's: approve_all but what is rejected by name, else reject_all, else what is listed.
func TestTheRuleOfDecisions(t *testing.T) {
	child, id := asking(3)
	for _, c := range []struct {
		in   resumeInput
		want string
	}{
		{resumeInput{}, "[] [1 2 3] 0"},
		{resumeInput{ApproveAll: true}, "[1 2 3] [] 0"},
		{resumeInput{ApproveAll: true, RejectAll: true}, "[1 2 3] [] 0"},
		{resumeInput{ApproveAll: true, Reject: id[1:2]}, "[1 3] [2] 0"},
		{resumeInput{RejectAll: true, Approve: id[:1]}, "[] [1 2 3] 0"},
		{resumeInput{Approve: id[:1]}, "[1] [2 3] 0"},
		{resumeInput{Approve: id[:2], Reject: id[1:2]}, "[1] [2 3] 0"},
		{resumeInput{Reject: id[:1]}, "[] [1 2 3] 0"},
	} {
		if got := decided(tasksThatHaveShown(id...).judge("", c.in, child)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
}

// TestApproveAllIsOfWhatWasShown: what was asked since waits, unless it is named; and what another run was shown does not count.
func TestApproveAllIsOfWhatWasShown(t *testing.T) {
	child, id := asking(3)
	tasks := tasksThatHaveShown(id[0])
	for _, c := range []struct {
		in   resumeInput
		want string
	}{
		{resumeInput{ApproveAll: true}, "[1] [] 2"},
		{resumeInput{ApproveAll: true, Approve: id[2:]}, "[1 3] [] 1"},
		{resumeInput{ApproveAll: true, Reject: id[1:2]}, "[1] [2] 1"},
		{resumeInput{RejectAll: true}, "[] [1 2 3] 0"},
	} {
		if got := decided(tasks.judge("", c.in, child)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
	child.RequestID = "another"
	if got := decided(tasks.judge("", resumeInput{ApproveAll: true}, child)); got != "[] [] 3" {
		t.Error("of another run:", got)
	}
}

// TestAnIDIsOfOneQuestion: with another number or another text it is another id.
func TestAnIDIsOfOneQuestion(t *testing.T) {
	child, ids := asking(3)
	if v := newTasks().judge("", resumeInput{Approve: []string{"call_1_" + strings.Repeat("1", 16), ids[0]}}, child); !slices.Equal(v.unknown, []string{"call_1_1111111111111111"}) {
		t.Error(v.unknown)
	}
}

// TestWhatIsShownWholeIsRemembered, and nothing else.
func TestWhatIsShownWholeIsRemembered(t *testing.T) {
	child, ids := asking(6)
	child.SubagentID = "abcdef"
	child.Approvals[1].Cut = true
	child.Approvals[2].Arguments = strings.Repeat("x", 2*maxAsked)
	tasks := newTasks()
	desk := &mcp.Desk{}
	tasks.showQuestions(t.Context(), desk.Page(), desk, child)
	for i, want := range []bool{true, false, false, true, false, false} {
		if tasks.wasShown(question{"", "r", ids[i]}) != want {
			t.Errorf("question %d was shown: %v", i+1, !want)
		}
	}
}

func TestStatuses(t *testing.T) {
	question := []delegation.PendingApproval{{Approval: 1}}
	for _, c := range []struct {
		item manager.Item
		want status
	}{
		{manager.Item{}, pending},
		{manager.Item{State: delegation.StateQueued}, pending},
		{manager.Item{State: delegation.StateStarting}, pending},
		{manager.Item{State: delegation.StateRunning}, running},
		{manager.Item{State: delegation.StateWaiting}, running},
		{manager.Item{State: delegation.StateWaiting, Approvals: question}, paused},
		{manager.Item{State: delegation.StateEnded, Status: delegation.StatusCompleted}, completed},
		{manager.Item{State: delegation.StateEnded, Status: delegation.StatusCompleted, ExitCode: 1}, failed},
		{manager.Item{State: delegation.StateEnded, Status: delegation.StatusError}, failed},
		{manager.Item{State: delegation.StateEnded, Status: delegation.StatusTimeout}, timedOut},
		{manager.Item{State: delegation.StateEnded, Status: delegation.StatusCancelled}, cancelled},
	} {
		if got := statusOf(c.item); got != c.want {
			t.Errorf("%+v is %s, want %s", c.item, got, c.want)
		}
	}
}

// TestNothingIsDecidedAfterACall: when its time is up or its client is gone, the host is asked nothing more. A desk without a server would
// not survive being asked.
func TestNothingIsDecidedAfterACall(t *testing.T) {
	child, ids := asking(2)
	v := tasksThatHaveShown(ids...).judge("", resumeInput{ApproveAll: true}, child)
	gone := errors.New("the client has ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	desk := &mcp.Desk{}
	if decided, err := v.carryOut(ctx, desk, "a", desk.Page()); decided != 0 || !errors.Is(err, gone) {
		t.Error(decided, err)
	}
	say(ctx, desk, resumeInput{ID: "a", Input: "x"}, desk.Page())
}

// TestWhatOneClientSawAnotherDoesNotApprove.
func TestWhatOneClientSawAnotherDoesNotApprove(t *testing.T) {
	child, ids := asking(1)
	tasks := tasksThatHaveShown()
	tasks.noteShown(question{"one", "r", ids[0]})
	for session, want := range map[string]string{"one": "[1] [] 0", "another": "[] [] 1"} {
		if got := decided(tasks.judge(session, resumeInput{ApproveAll: true}, child)); got != want {
			t.Errorf("%s: %s, want %s", session, got, want)
		}
	}
}

// TestWhatDoesNotGoOutWasNotShown: the client has cancelled the call.
func TestWhatDoesNotGoOutWasNotShown(t *testing.T) {
	child, ids := asking(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tasks, desk := newTasks(), &mcp.Desk{}
	tasks.showQuestions(ctx, desk.Page(), desk, child)
	if tasks.wasShown(question{"", "r", ids[0]}) {
		t.Error("it counts as shown")
	}
}
