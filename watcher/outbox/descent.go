package outbox

import (
	"context"
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// Tree bounds the tree of an outbox's runs. The outbox's own agent stands above the tree; the queue bounds that agent.
type Tree struct {
	Children int // most unfinished children of one run
	Depth    int // 1 allows no children of runs
}

// errParentUnread means that the parent's request lies in the outbox but was not looked at yet.
var errParentUnread = errors.New("the watcher has not looked at the parent's request yet")

// maxParentWaits bounds how often a request waits until its parent's request was looked at. A chain of such requests
// may be listed in any order.
const maxParentWaits = 8

// descend finds the place of a request's run in the tree. If the run may not stand there, the error is a
// *delegation.Refusal. A request that was admitted before keeps its place, whatever its parent's name means now.
func (d *admitter) descend(ctx context.Context, request delegation.Request, key sandbox.RunKey, attempts int) (journal.Descent, error) {
	if attempts > 0 {
		known, err := d.Journal.Get(ctx, key.Hash())
		return known.Descent, err
	}
	at := journal.Descent{Parent: request.ParentID.String(), Depth: 1}
	id, isID := parseParent(at.Parent)
	switch {
	case !isID:
		return at, nil // parent_id is a word for the records, or empty
	case id == request.SubagentID:
		return at, badParent(fmt.Sprintf("Subagent %q cannot be its own parent.", at.Parent))
	}
	parent, found, err := d.Journal.Latest(ctx, d.ID, id)
	if err != nil {
		return at, err
	}
	switch {
	case d.awaitsParent(ctx, request.SubagentID, id):
		return at, errParentUnread
	case !found:
		return at, nil
	case parent.State == delegation.StateEnded:
		return at, badParent(fmt.Sprintf("The parent %q has ended, and can have no new children.", at.Parent))
	}
	at.Run, at.Depth = parent.Key, max(parent.Descent.Depth, 1)+1
	return at, d.boundTree(ctx, at, request.SubagentID)
}

// parseParent returns the subagent that a parent_id names, if it names one.
func parseParent(text string) (id delegation.SubagentID, isID bool) {
	id, err := delegation.ParseSubagentID(text)
	return id, err == nil
}

func badParent(text string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeParent, Field: "parent_id", Text: text, Hint: "Name a subagent whose run has not ended, or leave parent_id out.",
	}
}

// boundTree refuses a run if its parent has too many children or the tree would become too deep.
func (d *admitter) boundTree(ctx context.Context, at journal.Descent, child delegation.SubagentID) error {
	bounds := d.Settings.Tree
	children, err := d.Journal.Children(ctx, at.Run, child)
	if err != nil {
		return err
	}
	if children < bounds.Children && at.Depth <= bounds.Depth {
		return nil
	}
	return &delegation.Refusal{
		Code: delegation.CodeTreeLimit, Field: "parent_id",
		Text: fmt.Sprintf("There is no room below the parent %q: it has %d unfinished children (the limit is %d), and a new child would be at depth %d (the limit is %d).",
			at.Parent, children, bounds.Children, at.Depth, bounds.Depth),
		Hint: "Wait until one of its children ends, or do the task one level higher; the operator sets `tree: {children, depth}` of the outbox.",
	}
}

// awaitsParent reports whether a request must be looked at again after its parent's request, because a listing returns
// files in any order.
func (d *admitter) awaitsParent(ctx context.Context, child, parent delegation.SubagentID) bool {
	name, above := delegation.RequestName(child), delegation.RequestName(parent)
	stamp, err := d.Dir.Stat(above)
	if err == nil && d.waits[name] < maxParentWaits && len(d.waits) < maxDelayed {
		if _, looked, err := d.Journal.ByFile(ctx, d.ID, above, stamp); err == nil && !looked {
			d.waits[name]++
			return true
		}
	}
	delete(d.waits, name)
	return false
}
