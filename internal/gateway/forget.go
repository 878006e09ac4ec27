package gateway

import (
	"errors"

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
	open := g.runsOfDoors()
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
// What subagents, trees and outboxes have spent stays.
func (g *Gateway) Forget(runs []string) error {
	g.mu.Lock() // no door is opened meanwhile
	defer g.mu.Unlock()
	open := g.runsOfDoors()
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

// runsOfDoors are the runs for which open doors count. The gateway is locked.
func (g *Gateway) runsOfDoors() map[string]bool {
	open := map[string]bool{}
	for _, d := range g.doors {
		for _, claim := range d.spec().Claims {
			if claim.Scope.Kind == budget.Run {
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
