package gateway

import (
	"maps"
	"slices"
	"sync"

	"torno/internal/gateway/budget"
)

// Total is the traffic of one route through all doors since the gateway began. Its words are the operator's and ours: nothing of it is of a
// child's choice.
type Total struct {
	Route    string           `json:"route"`           // "" for requests that found none
	Requests int64            `json:"requests"`        // with those that were refused
	Cost     budget.Amount    `json:"cost"`            // of those that have ended
	Codes    map[string]int64 `json:"codes,omitempty"` // of those that were refused or cut off, by their codes
}

// totals counts by route.
type totals struct {
	mu      sync.Mutex
	byRoute map[string]*Total
}

func (t *totals) add(event Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := t.byRoute[event.Route]
	if total == nil {
		total = &Total{Route: event.Route, Codes: map[string]int64{}}
		t.byRoute[event.Route] = total
	}
	total.Requests++
	total.Cost = total.Cost.Plus(event.Cost)
	if event.Code != "" {
		total.Codes[event.Code]++
	}
}

// Totals are those of all routes that were used, in the order of their names.
func (g *Gateway) Totals() []Total {
	g.totals.mu.Lock()
	defer g.totals.mu.Unlock()
	all := []Total{}
	for _, name := range slices.Sorted(maps.Keys(g.totals.byRoute)) {
		total := *g.totals.byRoute[name]
		total.Codes = maps.Clone(total.Codes)
		all = append(all, total)
	}
	return all
}
