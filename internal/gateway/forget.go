package gateway

import (
	"errors"
	"math"
	"slices"

	"torno/internal/calendar"
	"torno/internal/gateway/budget"
)

// maxRuns is how many runs IdleRuns names at once.
const maxRuns = 1000

// IdleRuns are runs that have spent something and have no open door, in the order of their names, those behind after. There may be
// more behind the last of them; there are none behind an empty list.
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

// Forget forgets what runs have spent, which are over: their watcher says so. A run with an open door is not over, whatever is said.
// What subagents, trees and outboxes have spent stays here.
func (g *Gateway) Forget(runs []string) error {
	g.mu.Lock() // no door is opened meanwhile
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

// Idle is a scope that has no open door, and what it has spent.
type Idle struct {
	ID    string        `json:"id"`
	Spent budget.Amount `json:"spent"`
}

// IdleSubagents are subagents that have spent something and have no open door, in the order of their names, those behind after. Those that
// are new since the list was begun (after is "") may be missing. There are none behind an empty list.
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

// ForgetSubagents forgets what subagents have spent that never run again: their watcher says so. One with an open door, or that has spent
// something since it was listed, stays.
func (g *Gateway) ForgetSubagents(idle []Idle) error {
	g.mu.Lock() // no door is opened meanwhile
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

// ofDoors are the scopes of a kind for which open doors count. The gateway is locked.
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

// Reset has a scope's budget begin anew, as the operator wants, and returns the use that this ends.
func (g *Gateway) Reset(scope budget.Scope) (budget.Use, error) {
	was, err := g.Ledger.Reset(scope)
	if err == nil {
		g.Log.Warn("an operator has reset a budget", "scope", scope.Kind, "id", scope.ID, "spent", was.Spent)
	}
	return was, err
}

// Clock returns the doubt of the clock by which days begin. It is nil while the clock is believed.
func (g *Gateway) Clock() *calendar.Doubt {
	if g.Calendar == nil {
		return nil
	}
	return g.Calendar.Doubt()
}
