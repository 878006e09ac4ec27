package journal

import (
	"context"
	"encoding/json"
	"errors"

	"torno/internal/approval"
)

// Asked is a question of an agent as the journal records it.
type Asked struct {
	approval.Approval

	Taken bool // the agent has the decision, or will never take it
}

// ErrDecided means that the approval was decided before.
var ErrDecided = errors.New("the approval was decided before")

// Ask records a question, which the policy may have decided already. The binding names the run.
func (j *Journal) Ask(ctx context.Context, a approval.Approval) error {
	return j.order(ctx, "note a question of run "+a.Binding.Run, withKernel, func(tx *transaction) error {
		_, err := tx.exec(noteQuestion, a.Binding.Run, a.Number, rawColumn{&a.Ask}, rawColumn{&a.Tool}, rawColumn{&a.Preview}, a.Cut, a.Digest,
			a.Binding.Policy, int64(a.Asked), int64(a.Expires), a.Outcome, a.By, a.Why, int64(a.Decided))
		return err
	})
}

const noteQuestion = `INSERT INTO approvals (run, number, ask, tool, preview, cut, digest, policy, asked, expires, outcome, by, why, decided, taken)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`

// Decide records how a question was decided. If the decision brings a rule for similar calls, Decide records both or
// neither. It is called before anyone acts on the decision. A question can be decided once: every later call returns
// ErrDecided, even for the same decision.
func (j *Journal) Decide(ctx context.Context, a approval.Approval, always *NumberedChange) error {
	rule := ""
	if always != nil {
		var err error
		if rule, err = always.ruleText(); err != nil {
			return err
		}
	}
	var changed int64
	err := j.order(ctx, "note a decision for run "+a.Binding.Run, onDisk, func(tx *transaction) (err error) {
		changed, err = tx.exec(noteDecision, a.Outcome, a.By, a.Why, int64(a.Decided), a.Binding.Run, a.Number, a.Digest)
		if err != nil || changed == 0 || always == nil {
			return err
		}
		_, err = tx.exec(noteChange, a.Binding.Run, always.Number, rule, always.Why)
		return err
	})
	if err == nil && changed == 0 {
		return ErrDecided
	}
	return err
}

const noteDecision = `UPDATE approvals SET outcome = ?, by = ?, why = ?, decided = ? WHERE run = ? AND number = ? AND digest = ? AND outcome = ''`

// NoteTaken records that an agent has a decision, or will never take it. It may be called again.
func (j *Journal) NoteTaken(ctx context.Context, run string, number int) error {
	return j.order(ctx, "note that run "+run+" has a decision", withKernel, func(tx *transaction) error {
		_, err := tx.exec(noteTaken, run, number)
		return err
	})
}

const noteTaken = `UPDATE approvals SET taken = 1 WHERE run = ? AND number = ?`

// Approvals returns the questions of a run, in their order.
func (j *Journal) Approvals(ctx context.Context, run string) ([]Asked, error) {
	return many(ctx, j, "list the questions of run "+run, listQuestions, func(row scanner) (a Asked, err error) {
		err = row.Scan(&a.Binding.Run, &a.Number, rawColumn{&a.Ask}, rawColumn{&a.Tool}, rawColumn{&a.Preview}, &a.Cut, &a.Digest, &a.Binding.Policy,
			(*int64)(&a.Asked), (*int64)(&a.Expires), &a.Outcome, &a.By, &a.Why, (*int64)(&a.Decided), &a.Taken)
		return a, err
	}, run)
}

const listQuestions = `SELECT run, number, ask, tool, preview, cut, digest, policy, asked, expires, outcome, by, why, decided, taken
	FROM approvals WHERE run = ? ORDER BY number`

// ApprovalChange is a change that an operator has made for one run.
type ApprovalChange struct {
	Rule *approval.Rule // a rule that allows more; nil ends all approvals without a question
	Why  string
}

// ruleText returns the rule as text for the journal, "" for none.
func (c ApprovalChange) ruleText() (string, error) {
	if c.Rule == nil {
		return "", nil
	}
	text, err := json.Marshal(c.Rule)
	return string(text), err
}

// NumberedChange is a change with its number. The numbers count a run's changes from 1 and prevent two changes at once.
type NumberedChange struct {
	Number int
	ApprovalChange
}

// ChangeApprovals records a change for a run. number counts the run's changes from 1 and prevents two changes at once.
func (j *Journal) ChangeApprovals(ctx context.Context, run string, number int, c ApprovalChange) error {
	rule, err := c.ruleText()
	if err != nil {
		return err
	}
	return j.order(ctx, "change the approvals of run "+run, onDisk, func(tx *transaction) error {
		_, err := tx.exec(noteChange, run, number, rule, c.Why)
		return err
	})
}

const noteChange = `INSERT INTO approval_changes (run, number, rule, why) VALUES (?, ?, ?, ?)`

// ApprovalChanges returns the changes for a run, in their order.
func (j *Journal) ApprovalChanges(ctx context.Context, run string) ([]ApprovalChange, error) {
	return many(ctx, j, "list the changes of run "+run, listChanges, func(row scanner) (c ApprovalChange, err error) {
		rule := ""
		if err := row.Scan(&rule, &c.Why); err != nil || rule == "" {
			return c, err
		}
		c.Rule = &approval.Rule{}
		return c, json.Unmarshal([]byte(rule), c.Rule)
	}, run)
}

const listChanges = `SELECT rule, why FROM approval_changes WHERE run = ? ORDER BY number`
