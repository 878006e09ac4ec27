package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"torno/delegation"
)

// ErrNoApproval is what was to be decided and does not wait.
var ErrNoApproval = errors.New("no such question waits")

// Approvals are the questions of the run's agent that wait for a decision. Their tools and arguments are the child's words.
func (r *Run) Approvals() []delegation.PendingApproval {
	status, ok := r.status()
	if !ok {
		return nil
	}
	return status.Approvals
}

// Decide decides a question of the run's agent, as it was seen in Approvals: the host refuses the decision where the question is another
// one by then. With a denial the text is for the agent. It returns when the decision is in the host's journal; what the host turns down is a
// *delegation.Refusal.
func (r *Run) Decide(ctx context.Context, seen delegation.PendingApproval, as delegation.Decision, text string) error {
	if err := r.maySend(); err != nil {
		return err
	}
	if !slices.Contains(seen.DecidedBy, "parent") && len(seen.DecidedBy) > 0 {
		return &delegation.Refusal{
			Code: delegation.CodeDecision, Text: fmt.Sprintf("Approval %d is for the operator to decide", seen.Approval),
			Hint: "the operator decides it with watcher approve, or watcher deny",
		}
	}
	n, err := r.put(delegation.Input{Kind: delegation.InputDecision, Approval: seen.Approval, Digest: seen.Digest, Decision: as, Text: text})
	if err != nil {
		return err
	}
	return r.awaitInput(ctx, n)
}
