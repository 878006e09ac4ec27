package watcher

import (
	"context"
	"fmt"
	"path"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/control"
)

// Budgets shows and resets the amounts that the model gateway counts. The gateway defines the kinds and the ids.
type Budgets interface {
	Spent(ctx context.Context, kind, id string) (*delegation.ModelUsage, error)
	Reset(ctx context.Context, kind, id string) (*delegation.ModelUsage, error)
	Clock(context.Context) (*calendar.Doubt, error)
}

// budgets returns the budgets of the running watcher's gateway.
func (o *Operator) budgets() (Budgets, error) {
	switch {
	case o.Watcher == nil:
		return nil, control.ErrNoWatcher
	case o.Watcher.config.Budgets == nil:
		return nil, control.ErrNoRoutes
	}
	return o.Watcher.config.Budgets, nil
}

// Budgets implements control.Service.
func (o *Operator) Budgets(ctx context.Context) (all control.Budgets, err error) {
	gateway, err := o.budgets()
	if err != nil {
		return all, err
	}
	if all.Clock, err = gateway.Clock(ctx); err != nil {
		return all, err
	}
	for _, box := range o.Watcher.boxes {
		for _, kind := range []control.BudgetKind{control.OutboxDay, control.Tree} {
			spent, err := gateway.Spent(ctx, string(kind), box.ID)
			if err != nil {
				return all, err
			}
			all.Budgets = append(all.Budgets, control.Budget{BudgetOf: control.BudgetOf{Kind: kind, Outbox: box.Name}, Spent: spent})
		}
	}
	return all, nil
}

// ResetBudget implements control.Service.
func (o *Operator) ResetBudget(ctx context.Context, of control.BudgetOf) (was control.Budget, err error) {
	gateway, err := o.budgets()
	if err != nil {
		return was, err
	}
	id, err := o.budgetID(ctx, of)
	if err != nil {
		return was, err
	}
	spent, err := gateway.Reset(ctx, string(of.Kind), id)
	if err != nil {
		return was, err
	}
	o.Watcher.log.Warn("an operator has reset a budget", "scope", of.Kind, "outbox", of.Outbox, "subagent", of.Subagent, "spent", spent)
	return control.Budget{BudgetOf: of, Spent: spent}, nil
}

// budgetID returns the gateway's id of a budget.
func (o *Operator) budgetID(ctx context.Context, of control.BudgetOf) (string, error) {
	if err := o.Watcher.awaitLook(ctx); err != nil {
		return "", err
	}
	if of.Outbox == "" {
		return "", fmt.Errorf("%w: it has no outbox", control.ErrNoBudget)
	}
	outbox, err := o.outboxID(ctx, of.Outbox)
	if err != nil {
		return "", err
	}
	switch of.Kind {
	case control.OutboxDay, control.Tree:
		return outbox, nil
	case control.Subagent:
		subagent, err := delegation.ParseSubagentID(of.Subagent)
		if err != nil {
			return "", fmt.Errorf("%w: %w", control.ErrNoBudget, err)
		}
		return path.Join(outbox, subagent.String()), nil
	}
	return "", fmt.Errorf("%w: %q", control.ErrNoBudget, of.Kind)
}
