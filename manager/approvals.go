package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"torno/delegation"
)

// ErrNoApproval says that no such question waits for a decision.
var ErrNoApproval = errors.New("no such question waits for a decision")

// Approvals returns the questions of the run's agent that wait for a decision. Their tools and arguments are the
// child's words.
func (r *Run) Approvals() []delegation.PendingApproval {
	status, ok := r.status()
	if !ok {
		return nil
	}
	return status.Approvals
}

// Decide decides a question of the run's agent. seen is the question as Approvals returned it; if the question has
// changed since, the host refuses the decision. With a denial the agent gets the text. Decide returns when the decision
// is in the host's journal. If the host turns the decision down, the error is a *delegation.Refusal.
func (r *Run) Decide(ctx context.Context, seen delegation.PendingApproval, as delegation.Decision, text string) error {
	if err := r.maySend(); err != nil {
		return err
	}
	if !slices.Contains(seen.DecidedBy, "parent") && len(seen.DecidedBy) > 0 {
		return &delegation.Refusal{
			Code: delegation.CodeDecision, Text: fmt.Sprintf("Only the operator may decide approval %d", seen.Approval),
			Hint: "ask the operator to decide it with watcher approve or watcher deny",
		}
	}
	n, err := r.put(delegation.Input{Kind: delegation.InputDecision, Approval: seen.Approval, Digest: seen.Digest, Decision: as, Text: text})
	if err != nil {
		return err
	}
	return r.awaitInput(ctx, n)
}
