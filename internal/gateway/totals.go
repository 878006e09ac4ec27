package gateway

import (
	"maps"
	"slices"
	"sync"

	"torno/internal/gateway/budget"
)

// Total counts the traffic of one route through all doors since the gateway started. All text in it comes from the
// operator or from the gateway: a child cannot choose any of it.
type Total struct {
	Route    string           `json:"route"`           // "" for requests without a route
	Requests int64            `json:"requests"`        // including refused ones
	Cost     budget.Amount    `json:"cost"`            // of ended requests
	Codes    map[string]int64 `json:"codes,omitempty"` // refused or cut off requests, by code
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

// Totals returns the counts of all used routes, sorted by name.
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
