package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/journal"
	"torno/test/house"
)

// TestAFloodOfQuestions: few wait, few are noted, the rest is denied.
func TestAFloodOfQuestions(t *testing.T) {
	r := newRig(t)
	for i := range 2000 {
		r.ask(fmt.Sprint("q", i), fmt.Sprint("rm ", i))
	}
	if n := len(r.Pending()); n != maxPending {
		t.Errorf("%d wait", n)
	}
	noted, err := r.journal.Approvals(context.Background(), "run")
	if err != nil || len(noted) != maxPending {
		t.Errorf("%d are noted, %v", len(noted), err)
	}
	if n := len(r.Due()); n != maxDenied {
		t.Errorf("%d denials are kept", n)
	}
	for i := range 300 {
		r.ask(fmt.Sprint("t", i), "git push")
	}
	if noted, _ = r.journal.Approvals(context.Background(), "run"); len(noted) > 310 {
		t.Errorf("%d are noted", len(noted))
	}
}

// TestALogIsNoPlaceForAChildsWords: what a child can cause without end is logged once (O51).
func TestALogIsNoPlaceForAChildsWords(t *testing.T) {
	r := newRig(t)
	var log strings.Builder
	r.Desk.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r.ask("x", "rm 0")
	for i := range 1000 {
		r.ask("x", fmt.Sprint("rm ", i+1))
	}
	r.ask("y", "git push") // is denied
	for range 1000 {
		r.Take(agent.Line{Kind: agent.AskTaken, Ask: "y", Failed: true})
		r.ask("y", "git push")
	}
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 {
		t.Errorf("%d warnings are in the log, and not one of each kind: %.2000s", len(lines), &log)
	}
}

// TestRatesOfThePolicy: the sixth command of a minute is denied.
func TestRatesOfThePolicy(t *testing.T) {
	r := newRig(t)
	for i := range 6 {
		r.ask(fmt.Sprint(i), "go test")
	}
	r.wantDue("+0", "+1", "+2", "+3", "+4", "-5")
}

// TestTheTimeBox: behind it the policy approves nothing itself.
func TestTheTimeBox(t *testing.T) {
	r := newRig(t)
	r.begin = r.begin.Add(-time.Hour)
	r.ask("a", "go test")
	r.wantDue()
	if len(r.Pending()) != 1 {
		t.Error("it does not wait")
	}
}

// TestRevoked: what waits is denied, nothing is approved without a question any more, also after a restart; people still decide.
func TestRevoked(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	seen := r.decision(approval.ByParent, true)
	if pending, err := r.Revoke("it does what it should not"); pending != 1 || err != nil {
		t.Fatalf("%d, %v", pending, err)
	}
	if err := r.Decide(seen); !errors.Is(err, approval.ErrUsed) {
		t.Errorf("granted behind the revocation: %v", err)
	}
	r.wantDue("-a")
	for range 2 {
		r.ask("b", "go test")
		if waiting := r.Pending(); len(waiting) != 1 {
			t.Fatalf("%+v", waiting)
		}
		r.restart(policy())
	}
	if err := r.Decide(r.decision(approval.ByOperator, true)); err != nil {
		t.Error(err)
	}
}

// TestRevokedTwice: what the agent asks after a revocation waits, and another revocation denies that too. What an operator then allows
// always is allowed, also after a restart, until the next one.
func TestRevokedTwice(t *testing.T) {
	r := newRig(t)
	revoke := func(waited int) {
		t.Helper()
		if pending, err := r.Revoke("again"); pending != waited || err != nil {
			t.Fatalf("%d, %v", pending, err)
		}
		if left := r.Pending(); len(left) > 0 {
			t.Fatalf("they wait still: %+v", left)
		}
	}
	revoke(0)
	r.ask("a", "rm a")
	revoke(1)
	r.wantDue("-a")
	r.ask("b", "rm b; ls")
	if err := r.DecideAlways(r.decision(approval.ByOperator, true)); err != nil {
		t.Fatal(err)
	}
	r.wantDue("+b")
	r.restart(policy())
	r.ask("c", "rm b; ls")
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "b"})
	r.wantDue("+c")
	revoke(0)
	r.ask("d", "rm b; ls")
	if len(r.Pending()) != 1 {
		t.Error("it is still allowed")
	}
}

// TestAlways: calls like it, for this run, also after a restart; not what denies it, and not another command.
func TestAlways(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a; ls")
	if err := r.DecideAlways(r.decision(approval.ByOperator, true)); err != nil {
		t.Fatal(err)
	}
	r.wantDue("+a")
	r.ask("b", "rm a; ls")
	r.wantDue("+b")
	r.restart(policy())
	r.ask("c", "rm a; ls")
	r.ask("d", "rm a; ls ")
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "b"})
	r.wantDue("+c")
	if len(r.Pending()) != 1 {
		t.Error("another command was approved")
	}
}

// TestAnEndWaitsForNoJournal: a run's end shuts the desk while the journal notes a question, and hangs.
func TestAnEndWaitsForNoJournal(t *testing.T) {
	r := newRig(t)
	r.mu.Lock() // as while the journal notes a question
	shut := make(chan struct{})
	go func() { defer close(shut); r.Shut() }()
	select {
	case <-shut:
	case <-time.After(house.Patience):
		t.Error("the end of a run waits for the journal")
	}
	r.mu.Unlock()
	<-shut
	r.ask("a", "go test")
	if late := r.Close(); late != 1 {
		t.Errorf("%d were late", late)
	}
}

// TestBehindTheEnd: what waits is denied, and what comes then is dropped and counted.
func TestBehindTheEnd(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	r.Shut()
	r.ask("a", "rm a") // read once more
	r.ask("b", "go test")
	if late := r.Close(); late != 1 {
		t.Errorf("%d were late", late)
	}
	noted, err := r.journal.Approvals(context.Background(), "run")
	if err != nil || len(noted) != 1 || noted[0].By != approval.ByEnd || noted[0].Outcome != approval.Declined {
		t.Errorf("%+v, %v", noted, err)
	}
}

// TestWithdrawn: the agent takes its question back, and no decision counts for it.
func TestWithdrawn(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	seen := r.decision(approval.ByParent, true)
	r.Take(agent.Line{Kind: agent.AskGone, Ask: "a"})
	if err := r.Decide(seen); !errors.Is(err, approval.ErrUsed) {
		t.Error(err)
	}
	r.wantDue()
}

// TestAStatusWithAllQuestions stays below what clients read, whatever is asked.
func TestAStatusWithAllQuestions(t *testing.T) {
	r := newRig(t)
	for i := range maxPending {
		r.ask(fmt.Sprint("q", i), fmt.Sprint(i)+strings.Repeat("\\\"<\u2028", 3000/4))
	}
	status := delegation.RunStatus{
		Version: 1, SubagentID: "s1", RequestID: "r", State: delegation.StateWaiting, UpdatedAt: r.begin.UTC(), Approvals: r.Pending(),
	}
	data, err := status.Encode()
	if err != nil || len(status.Approvals) != maxPending || len(data) > 32<<10 {
		t.Errorf("%d questions have %d bytes, %v", len(status.Approvals), len(data), err)
	}
}

// TestAnAlwaysThatIsNotWritten: neither the call nor those like it are approved, as somebody is told who is told that it failed.
func TestAnAlwaysThatIsNotWritten(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	// Another change has the number that the rule would get.
	if err := r.journal.ChangeApprovals(t.Context(), "run", 1, journal.ApprovalChange{Rule: &approval.Rule{Tool: "Bash", Exact: "ls"}, Why: "always"}); err != nil {
		t.Fatal(err)
	}
	if err := r.DecideAlways(r.decision(approval.ByOperator, true)); err == nil {
		t.Fatal("it is said to be decided")
	}
	r.wantDue()
	r.ask("b", "rm a")
	if waiting := r.Pending(); len(waiting) != 2 {
		t.Errorf("%+v wait", waiting)
	}
	r.restart(policy())
	r.wantDue()
}

// TestTheJournalHasABoundForQuestions: an agent writes no more into it than a bound, and of what the policy decides by itself only the name.
func TestTheJournalHasABoundForQuestions(t *testing.T) {
	r := newRig(t)
	r.Policy.Rates = approval.Rates{CallsPerMinute: 1 << 20, Calls: 1 << 20, ShellPerMinute: 1 << 20, WritesPerMinute: 1 << 20}
	long, denied := strings.Repeat("x", 900), 0
	name := func(i int) string { return fmt.Sprintf("%0250d", i) }
	for i := range 5000 {
		r.begin = r.begin.Add(-time.Second) // so few in a minute
		command := "git push " + long
		if i%2 == 0 {
			command = "rm " + long
		}
		r.ask(name(i), command)
		r.Take(agent.Line{Kind: agent.AskGone, Ask: name(i)})
	}
	noted, err := r.journal.Approvals(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, a := range noted {
		words += len(a.Ask) + len(a.Tool) + len(a.Preview)
		if a.By == approval.ByPolicy {
			denied++
			if a.Preview != "" {
				t.Fatalf("the journal has what the policy decided: %q", a.Preview)
			}
		}
	}
	if words > maxBytes+2048 || denied == 0 || denied == len(noted) {
		t.Errorf("%d bytes of %d questions are noted, %d of them decided by the policy", words, len(noted), denied)
	}
	r.restart(r.Policy)
	r.Due() // what nobody took
	r.ask("later", "rm a")
	if again, err := r.journal.Approvals(t.Context(), "run"); err != nil || len(again) != len(noted) || len(r.Pending()) != 0 {
		t.Errorf("the next watcher notes more: %d questions, %v", len(again), err)
	}
	r.wantDue("-later")
}
