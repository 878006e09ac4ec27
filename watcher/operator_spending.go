package watcher

import (
	"context"
	"slices"

	"torno/delegation"
	"torno/internal/control"
)

// addSpending shows what running children have spent on their models so far. Where the gateway cannot be asked, their runs are shown
// without it: it is no part of what the journal knows.
func (o *Operator) addSpending(ctx context.Context, runs []control.Run) {
	if o.Watcher == nil || o.Watcher.config.Spending == nil || !slices.ContainsFunc(runs, maySpend) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	spent, err := o.Watcher.config.Spending(ctx)
	if err != nil {
		o.Watcher.log.Debug("what runs have spent so far is not known", "error", err)
		return
	}
	for i, r := range runs {
		if model := spent[r.SandboxID]; model != nil && maySpend(r) {
			if r.Usage == nil {
				runs[i].Usage = &delegation.Usage{}
			}
			runs[i].Usage.Model = model
		}
	}
}

// maySpend says whether a run has a sandbox that may spend something. An ended one has its whole usage in the journal.
func maySpend(r control.Run) bool { return r.State != delegation.StateEnded && r.SandboxID != "" }
