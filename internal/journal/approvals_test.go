package journal

import (
	"context"
	"errors"
	"testing"
	"time"

	"torno/internal/approval"
)

// TestQuestions: they are kept as they are, decided once, and gone with their run.
func TestQuestions(t *testing.T) {
	ctx := context.Background()
	path := state(t)
	j := open4test(t, path)
	run := over(t, j, "main", 1)
	a := approval.Approval{
		Number: 1, Ask: "ask\x00\xff", Tool: "Bash", Preview: `{"command":"ls"}`, Cut: true, Digest: "d", Binding: approval.Binding{Run: run.Key, Policy: "p"},
		Asked: time.Second, Expires: time.Minute,
	}
	must(t, j.Ask(ctx, a))
	other := a
	other.Number = 2
	must(t, j.Ask(ctx, other))
	if err := j.Ask(ctx, other); err == nil {
		t.Error("a number is taken twice")
	}
	a.End(approval.Granted, approval.ByParent, "", 5*time.Second)
	forged := a
	forged.Digest = "e"
	if err := j.Decide(ctx, forged, nil); !errors.Is(err, ErrDecided) {
		t.Errorf("a decision about another call: %v", err)
	}
	taken := &NumberedChange{1, ApprovalChange{Rule: &approval.Rule{Tool: "Bash", Exact: "rm"}, Why: "always"}}
	must(t, j.ChangeApprovals(ctx, run.Key, 1, ApprovalChange{Rule: &approval.Rule{Tool: "Bash", Exact: "ls"}, Why: "always"}))
	if err := j.Decide(ctx, a, taken); err == nil || errors.Is(err, ErrDecided) {
		t.Errorf("a rule in the place of another one: %v", err)
	}
	must(t, j.Decide(ctx, a, &NumberedChange{2, ApprovalChange{Rule: &approval.Rule{Tool: "Bash", Exact: "id"}, Why: "always"}})) // nothing of the other one counts
	if err := j.Decide(ctx, a, nil); !errors.Is(err, ErrDecided) {
		t.Errorf("decided twice: %v", err)
	}
	must(t, j.NoteTaken(ctx, run.Key, 1))
	must(t, j.ChangeApprovals(ctx, run.Key, 3, ApprovalChange{Why: "no more"}))
	must(t, j.Close())

	j = open4test(t, path)
	all, err := j.Approvals(ctx, run.Key)
	must(t, err)
	if len(all) != 2 || all[0] != (Asked{a, true}) || all[1] != (Asked{other, false}) {
		t.Errorf("%+v", all)
	}
	changes, err := j.ApprovalChanges(ctx, run.Key)
	must(t, err)
	if len(changes) != 3 || changes[0].Rule.Exact != "ls" || changes[1].Rule.Exact != "id" || changes[2].Rule != nil || changes[2].Why != "no more" {
		t.Errorf("%+v", changes)
	}
	if n := prune(t, j, "main", Retention{Age: time.Minute}, noon.Add(time.Hour)); n != 1 {
		t.Errorf("%d runs are pruned", n)
	}
	if all, err := j.Approvals(ctx, run.Key); len(all) != 0 || err != nil {
		t.Errorf("what is left: %+v, %v", all, err)
	}
	if changes, err := j.ApprovalChanges(ctx, run.Key); len(changes) != 0 || err != nil {
		t.Errorf("what is left: %+v, %v", changes, err)
	}
}
