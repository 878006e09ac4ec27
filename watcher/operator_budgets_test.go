package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/control"
)

// till is a gateway's budgets, which counts what was reset.
type till struct {
	reset []string
	doubt *calendar.Doubt
}

func (c *till) Spent(_ context.Context, kind, id string) (*delegation.ModelUsage, error) {
	return &delegation.ModelUsage{Requests: 3}, nil
}

func (c *till) Reset(_ context.Context, kind, id string) (*delegation.ModelUsage, error) {
	c.reset = append(c.reset, kind+" "+id)
	return &delegation.ModelUsage{Requests: 3}, nil
}

func (c *till) Clock(context.Context) (*calendar.Doubt, error) { return c.doubt, nil }

// TestAnOperatorResetsABudget by the outbox's name; what names no budget resets none.
func TestAnOperatorResetsABudget(t *testing.T) {
	gateway := &till{doubt: &calendar.Doubt{Left: time.Hour}}
	d := newDesk(t, func(c *Config) { c.Budgets = gateway })
	all, err := d.operator().Budgets(t.Context())
	d.must(err)
	if len(all.Budgets) != 2 || all.Budgets[0].Outbox != "main" || all.Budgets[0].Spent.Requests != 3 || all.Clock != gateway.doubt {
		t.Errorf("it shows %+v", all)
	}
	for _, of := range []control.BudgetOf{
		{Kind: control.OutboxDay}, {Kind: control.OutboxDay, Outbox: "other"}, {Kind: "run", Outbox: "main"}, {Kind: control.Subagent, Outbox: "main"},
		{Kind: control.Subagent, Outbox: "main", Subagent: "../s1"},
	} {
		_, err := d.operator().ResetBudget(t.Context(), of)
		if !errors.Is(err, control.ErrNoBudget) && !errors.Is(err, control.ErrNoOutbox) {
			t.Errorf("%+v is %v", of, err)
		}
	}
	if len(gateway.reset) != 0 {
		t.Fatalf("reset are %q", gateway.reset)
	}
	for _, of := range []control.BudgetOf{
		{Kind: control.OutboxDay, Outbox: "main"}, {Kind: control.Tree, Outbox: "main"}, {Kind: control.Subagent, Outbox: "main", Subagent: "s1"},
	} {
		was, err := d.operator().ResetBudget(t.Context(), of)
		if err != nil || was.Spent.Requests != 3 || was.BudgetOf != of {
			t.Errorf("%+v: %+v, %v", of, was, err)
		}
	}
	id := d.box("main")
	if want := []string{"outbox-day " + id, "tree " + id, fmt.Sprintf("subagent %s/s1", id)}; !slices.Equal(gateway.reset, want) {
		t.Errorf("reset are %q, and should be %q", gateway.reset, want)
	}
}

// TestWithoutAGatewayThereIsNoBudget, and without a watcher nobody to ask.
func TestWithoutAGatewayThereIsNoBudget(t *testing.T) {
	d := newDesk(t, nil)
	if _, err := d.operator().Budgets(t.Context()); !errors.Is(err, control.ErrNoRoutes) {
		t.Errorf("it says %v", err)
	}
	if _, err := new(Operator).ResetBudget(t.Context(), control.BudgetOf{Kind: control.Tree, Outbox: "main"}); !errors.Is(err, control.ErrNoWatcher) {
		t.Errorf("it says %v", err)
	}
}
