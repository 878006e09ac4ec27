package watcher

import (
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/control"
	"torno/internal/journal"
	"torno/watcher/run"
)

// Approvals returns the waiting questions of all runs that this watcher carries, the oldest run first.
func (o *Operator) Approvals(ctx context.Context) (all []control.Question, err error) {
	if o.Watcher == nil {
		return nil, control.ErrNoWatcher
	}
	known, err := o.Journal.Outboxes(ctx)
	if err != nil {
		return nil, err
	}
	records, err := o.Journal.List(ctx, journal.Query{ActiveOnly: true})
	if err != nil {
		return nil, err
	}
	for _, record := range slices.Backward(records) {
		r := o.Watcher.runs.Running(record.Key)
		if r == nil {
			continue
		}
		for _, waiting := range r.Approvals().Pending() {
			all = append(all, questionOf(record, known, waiting))
		}
	}
	return all, nil
}

func questionOf(record journal.Run, known []journal.Outbox, waiting delegation.PendingApproval) control.Question {
	return control.Question{Key: record.Key, Outbox: nameOf(known, record.Outbox), Subagent: record.Subagent.String(), PendingApproval: waiting}
}

// asking returns the run that ref names, if this watcher carries it.
func (o *Operator) asking(ctx context.Context, ref string) (*run.Run, journal.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return nil, record, err
	}
	if o.Watcher == nil {
		return nil, record, control.ErrNoWatcher
	}
	r := o.Watcher.runs.Running(record.Key)
	switch {
	case r != nil:
		return r, record, nil
	case record.State == delegation.StateEnded:
		return nil, record, fmt.Errorf("%w: %s", control.ErrEnded, record.Key)
	}
	return nil, record, fmt.Errorf("%w: %s", control.ErrUntaken, record.Key)
}

// Decide answers a question for the operator.
func (o *Operator) Decide(ctx context.Context, ref string, d control.Decision) (control.Question, error) {
	r, record, err := o.asking(ctx, ref)
	if err != nil {
		return control.Question{}, err
	}
	desk := r.Approvals()
	waiting := desk.Pending()
	at := slices.IndexFunc(waiting, func(a delegation.PendingApproval) bool { return a.Approval == d.Approval })
	if at < 0 {
		return control.Question{}, fmt.Errorf("%w: approval %d of %s", control.ErrNoQuestion, d.Approval, record.Key)
	}
	decide := desk.Decide
	if d.Always {
		decide = desk.DecideAlways
	}
	decision := approval.Decision{Number: d.Approval, Digest: d.Digest, Grant: d.Grant || d.Always, Why: d.Why, By: approval.ByOperator}
	if err := decide(decision); err != nil {
		return control.Question{}, fmt.Errorf("%w: %w", control.ErrUndecided, err)
	}
	if d.Always {
		o.Watcher.log.Warn("an operator has allowed calls like this one for the rest of the run", "run", record.Key, "approval", d.Approval)
	}
	known, err := o.Journal.Outboxes(ctx)
	return questionOf(record, known, waiting[at]), err
}

// Revoke withdraws the permission to approve a run's calls without a question. Waiting questions are denied. If one is
// waiting and the operator wants it, the run is ended too.
func (o *Operator) Revoke(ctx context.Context, ref string, revocation control.Revocation) (control.Revoked, error) {
	r, record, err := o.asking(ctx, ref)
	if err != nil {
		return control.Revoked{}, err
	}
	ends := revocation.End && len(r.Approvals().Pending()) > 0
	var noted error
	if ends { // stop the run first, so that its agent cannot go on with a denial
		noted = o.stop(ctx, r)
	}
	pending, err := r.Approvals().Revoke(revocation.Why)
	if err != nil && !ends {
		return control.Revoked{}, fmt.Errorf("%w: %w", control.ErrUndecided, err)
	}
	o.Watcher.log.Warn("an operator has revoked the approvals of a run", "run", record.Key, "because", revocation.Why, "waited", pending, "ends", ends)
	if ends {
		ended, err := o.over(ctx, r, noted)
		return control.Revoked{Run: ended, Pending: pending}, err
	}
	now, err := o.Run(ctx, record.Key)
	return control.Revoked{Run: now, Pending: pending}, err
}
