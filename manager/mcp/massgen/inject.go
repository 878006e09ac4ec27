package massgen

import (
	"context"

	"torno/manager/massgen/outcome"
	"torno/manager/mcp"
)

// maxInjected bounds how many results come with one answer. The others come with the next answers.
const maxInjected = 4

// enough is the room that a result needs. With less room a result would be shown but not readable.
const enough = 4000

// inject adds the unseen results of children in the background to an answer.
func (h *home) inject(ctx context.Context, desk *yard, page *mcp.Page) {
	unseen, err := h.unseen(ctx, desk)
	if err != nil || ctx.Err() != nil { // nobody receives an answer after its client has given up
		return // the tools about children report the error
	}
	var results []outcome.Result
	for _, child := range unseen[:min(len(unseen), maxInjected)] {
		if page.Room() < enough {
			break
		}
		s, err := h.collect(desk, page, child, maxAnswer/maxInjected)
		if err != nil {
			page.Printf("\nNote: the result of %s could not be read: %s\n", mcp.Words(child.SubagentID), desk.Why(err))
			continue
		}
		if h.show(s.request) {
			results = append(results, s.Result)
			desk.Told(child)
		}
	}
	if len(results) > 0 {
		page.Printf("%s", outcome.Inject(results...))
	}
}

// unseen returns the children of this parent that have ended and were not shown, the oldest first. It leaves out the
// children that a blocking call waits for, because that call shows them.
func (h *home) unseen(ctx context.Context, desk *yard) (all []mcp.Child, err error) {
	list, err := desk.List(ctx)
	if err != nil {
		return nil, err
	}
	registry, err := h.registry()
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		child := mcp.Child{Item: list.Items[i]}
		if !child.Ended() || h.wasShown(child.RequestID) || registry.Find(child.SubagentID) == nil || h.of(child).blocking {
			continue
		}
		all = append(all, child)
	}
	return all, nil
}
