package gateway

import (
	"errors"
	"math"
	"slices"

	"torno/internal/calendar"
	"torno/internal/gateway/budget"
)

// maxRuns bounds the names in one list of IdleRuns or IdleSubagents.
const maxRuns = 1000

// IdleRuns lists runs that have spent something and have no open door, sorted by name. It begins after the name in
// after, and may return only a part. An empty list means that no more follow.
func (g *Gateway) IdleRuns(after string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := g.ofDoors(budget.Run)
	for {
		names := g.Ledger.Scopes(budget.Run, after, maxRuns)
		idle := []string{}
		for _, name := range names {
			if !open[name] {
				idle = append(idle, name)
			}
		}
		if len(idle) > 0 || len(names) == 0 {
			return idle
		}
		after = names[len(names)-1]
	}
}

// Forget removes the spending of runs that are over, as their watcher says. It keeps a run with an open door, because
// that run is not over, whatever the watcher says. It does not change the spending of subagents, trees and outboxes.
func (g *Gateway) Forget(runs []string) error {
	g.mu.Lock() // so that no door opens meanwhile
	defer g.mu.Unlock()
	open := g.ofDoors(budget.Run)
	var all error
	for _, name := range runs {
		if open[name] {
			continue
		}
		if _, err := g.Ledger.Forget(budget.Scope{Kind: budget.Run, ID: name}); err != nil {
			all = errors.Join(all, err)
		}
	}
	return all
}

// Idle is a scope without an open door, and its spending.
type Idle struct {
	ID    string        `json:"id"`
	Spent budget.Amount `json:"spent"`
}

// IdleSubagents lists subagents that have spent something and have no open door, sorted by name. It begins after the
// name in after, and may return only a part. An empty list means that no more follow. The caller begins a new list with
// after = ""; subagents that spend for the first time after that may be missing from it.
func (g *Gateway) IdleSubagents(after string) []Idle {
	if after == "" {
		names := g.Ledger.Scopes(budget.Subagent, "", math.MaxInt)
		g.mu.Lock()
		g.subagents = names
		g.mu.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	open := g.ofDoors(budget.Subagent)
	begin, found := slices.BinarySearch(g.subagents, after)
	if found {
		begin++
	}
	idle := []Idle{}
	for _, name := range g.subagents[begin:] {
		if len(idle) == maxRuns {
			return idle
		}
		if !open[name] {
			idle = append(idle, Idle{name, g.Ledger.Use(budget.Scope{Kind: budget.Subagent, ID: name}).Spent})
		}
	}
	g.subagents = g.subagents[:0:0]
	return idle
}

// ForgetSubagents removes the spending of subagents that never run again, as their watcher says. It keeps a subagent
// that has an open door, or that has spent something since it was listed.
func (g *Gateway) ForgetSubagents(idle []Idle) error {
	g.mu.Lock() // so that no door opens meanwhile
	defer g.mu.Unlock()
	open := g.ofDoors(budget.Subagent)
	var all error
	for _, s := range idle {
		if !open[s.ID] {
			all = errors.Join(all, g.Ledger.ForgetAt(budget.Scope{Kind: budget.Subagent, ID: s.ID}, s.Spent))
		}
	}
	return all
}

// ofDoors returns the scopes of one kind that open doors charge. The caller has locked the gateway.
func (g *Gateway) ofDoors(kind string) map[string]bool {
	open := map[string]bool{}
	for _, d := range g.doors {
		for _, claim := range d.spec().Claims {
			if claim.Scope.Kind == kind {
				open[claim.Scope.ID] = true
			}
		}
	}
	return open
}

// Reset starts a scope's budget anew, as the operator asked. It returns the use that was thrown away.
func (g *Gateway) Reset(scope budget.Scope) (budget.Use, error) {
	was, err := g.Ledger.Reset(scope)
	if err == nil {
		g.Log.Warn("an operator has reset a budget", "scope", scope.Kind, "id", scope.ID, "spent", was.Spent)
	}
	return was, err
}

// Clock returns why the calendar's clock is in doubt. It returns nil while the clock is believed.
func (g *Gateway) Clock() *calendar.Doubt {
	if g.Calendar == nil {
		return nil
	}
	return g.Calendar.Doubt()
}
