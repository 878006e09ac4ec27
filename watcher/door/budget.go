package door

import (
	"context"
	"fmt"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/gateway/budget"
)

// Spent returns how much a scope has spent. kind must be a kind of scope that the gateway knows.
func (d *Doors) Spent(ctx context.Context, kind, id string) (*delegation.ModelUsage, error) {
	use, err := d.gateway.Spent(ctx, budget.Scope{Kind: kind, ID: id})
	if err != nil {
		return nil, fmt.Errorf("ask the model gateway for the amount spent: %w", err)
	}
	return usageOf(use.Spent), nil
}

// Reset begins a scope's budget anew, and returns how much the scope had spent.
func (d *Doors) Reset(ctx context.Context, kind, id string) (*delegation.ModelUsage, error) {
	was, err := d.gateway.Reset(ctx, budget.Scope{Kind: kind, ID: id})
	if err != nil {
		return nil, fmt.Errorf("have the model gateway reset a budget: %w", err)
	}
	return usageOf(was.Spent), nil
}

// Clock returns the gateway's doubt about its clock, which decides when days begin. It is nil while the gateway
// believes the clock.
func (d *Doors) Clock(ctx context.Context) (*calendar.Doubt, error) {
	doubt, err := d.gateway.Clock(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the model gateway for its clock: %w", err)
	}
	return doubt, nil
}
