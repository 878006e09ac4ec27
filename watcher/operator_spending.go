package watcher

import (
	"context"
	"slices"

	"torno/delegation"
	"torno/internal/control"
)

// addSpending adds the model spending so far of running children. If the gateway does not answer, the runs are shown
// without it, because the journal does not know it.
func (o *Operator) addSpending(ctx context.Context, runs []control.Run) {
	if o.Watcher == nil || o.Watcher.config.Spending == nil || !slices.ContainsFunc(runs, maySpend) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	spent, err := o.Watcher.config.Spending(ctx)
	if err != nil {
		o.Watcher.log.Debug("the model gateway did not say how much the runs have spent so far", "error", err)
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

// maySpend reports whether a run has a sandbox that may still spend. The journal already has the whole usage of an
// ended run.
func maySpend(r control.Run) bool { return r.State != delegation.StateEnded && r.SandboxID != "" }
