package control

import (
	"context"
	"net/http"
	"net/url"

	"torno/delegation"
	"torno/internal/calendar"
)

// BudgetKind is the scope of a budget.
type BudgetKind string

// The kinds of budgets that an operator sees. Their words are the gateway's.
const (
	OutboxDay BudgetKind = "outbox-day"
	Tree      BudgetKind = "tree"
	Subagent  BudgetKind = "subagent"
)

// BudgetOf names a budget.
type BudgetOf struct {
	Kind     BudgetKind `json:"scope"`
	Outbox   string     `json:"outbox"` // its name or its id
	Subagent string     `json:"subagent_id,omitempty"`
}

// Budget is a budget, with the amount that was spent of it.
type Budget struct {
	BudgetOf
	Spent *delegation.ModelUsage `json:"spent"`
}

// Budgets holds two budgets for each served outbox: one for today, and one for all time.
type Budgets struct {
	Budgets []Budget        `json:"budgets"`
	Clock   *calendar.Doubt `json:"clock,omitempty"` // set while the wall clock, which decides when a day begins, is not believed
}

func handleBudgets(mux *http.ServeMux, service Service) {
	mux.HandleFunc("GET /v1/budgets", func(w http.ResponseWriter, r *http.Request) {
		all, err := service.Budgets(r.Context())
		failures.Reply(w, all, err)
	})
	mux.HandleFunc("POST /v1/budgets/reset", func(w http.ResponseWriter, r *http.Request) {
		was, err := service.ResetBudget(r.Context(), BudgetOf{
			Kind: BudgetKind(r.FormValue("scope")), Outbox: r.FormValue("outbox"), Subagent: r.FormValue("subagent"),
		})
		failures.Reply(w, was, err)
	})
}

// Budgets asks how much was spent of each budget.
func (c *Client) Budgets(ctx context.Context) (all Budgets, err error) {
	return all, c.watcher.Call(ctx, http.MethodGet, "/v1/budgets", nil, &all)
}

// ResetBudget makes a budget begin anew, and returns how much of it had been spent.
func (c *Client) ResetBudget(ctx context.Context, of BudgetOf) (was Budget, err error) {
	form := url.Values{"scope": {string(of.Kind)}, "outbox": {of.Outbox}, "subagent": {of.Subagent}}
	return was, c.watcher.Call(ctx, http.MethodPost, "/v1/budgets/reset?"+form.Encode(), nil, &was)
}
