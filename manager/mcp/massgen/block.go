package massgen

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/outcome"
	"torno/manager/mcp"
)

// above is how much longer than its child's time a blocking call waits. MassGen also waits 60 seconds longer. In this
// time a child may also wait for its turn.
const above = 60 * time.Second

// block waits for children and answers with their results.
func (h *home) block(ctx context.Context, desk *yard, all []*begun) (*mcp.Page, error) {
	startedAt := stamp(time.Now())
	if err := h.saveSpawning(startedAt, all); err != nil {
		return trouble(desk, mg.OpSpawn, err)
	}
	page := desk.Page()
	results, err := h.await(ctx, desk, page, all)
	if err != nil {
		return nil, err
	}
	err = h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		return tree.SaveSpawned(startedAt, stamp(time.Now()), results)
	})
	if err != nil {
		return trouble(desk, mg.OpSpawn, err)
	}
	return page.Object(outcome.Summarise(results))
}

func (h *home) saveSpawning(startedAt string, all []*begun) error {
	started := make([]layout.Started, 0, len(all))
	for _, b := range all {
		started = append(started, layout.Started{
			SubagentID: b.id.String(), Task: b.task, Status: "running", Timeout: b.timeout, Workspace: b.workspace, LogPath: h.eventsPath(b.id, nil),
		})
	}
	return h.withTree(func(_ *os.Root, tree *layout.Tree) error { return tree.SaveSpawning(startedAt, started) })
}

// await waits for the ends of children. If the client stops waiting, the children go on and count as started in the
// background.
func (h *home) await(ctx context.Context, desk *yard, page *mcp.Page, all []*begun) ([]outcome.Result, error) {
	limit := time.Duration(0)
	for _, b := range all {
		limit = max(limit, time.Duration(b.timeout)*time.Second+above)
	}
	timed, done, err := desk.WaitingLong(ctx, limit)
	if err != nil {
		h.leave(all)
		return nil, err
	}
	defer done()
	ends := make([]error, len(all))
	var group sync.WaitGroup
	for i, b := range all {
		if b.failure == "" {
			group.Go(func() { ends[i] = desk.End(timed, b.id.String()) })
		}
	}
	group.Wait()
	// A client whose input has ended still reads. So give up only if the client has cancelled the call, or some of the
	// call's children are still at work.
	err = context.Cause(ctx)
	if err == nil && !mcp.TimeIsUp(timed) && slices.ContainsFunc(ends, func(end error) bool { return end != nil }) {
		err = context.Cause(timed)
	}
	if err != nil {
		h.leave(all)
		return nil, err
	}
	results := make([]outcome.Result, len(all))
	for i, b := range all {
		results[i] = h.resultOf(desk, page, b, ends[i], maxAnswer/len(all))
	}
	return results, nil
}

// leave lets the children of a call go on in the background after the call stops waiting.
func (h *home) leave(all []*begun) {
	for _, b := range all {
		h.inBackground(b.id.String(), b.request)
	}
}

// resultOf returns the result of one child of a blocking call.
func (h *home) resultOf(desk *yard, page *mcp.Page, b *begun, end error, room int) outcome.Result {
	if b.failure != "" {
		return b.failed(b.failure)
	}
	child, err := desk.Look(b.id.String())
	if err == nil && child.RequestID != b.request {
		err = manager.ErrSuperseded
	}
	if err == nil && !child.Ended() {
		err = end
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = manager.ErrRunning
		}
	}
	if err == nil {
		var s shown
		if s, err = h.collect(desk, page, child, room); err == nil {
			h.show(s.request)
			desk.Told(child)
			s.Timeout, s.SubagentType = b.timeout, ""
			return s.Result
		}
	}
	h.inBackground(b.id.String(), b.request)
	return b.failed("The subagent has not ended, and goes on: " + desk.Why(err) + ". Its result comes with a later answer; list_subagents shows it, and cancel_subagent ends it.")
}

// failed returns the result for a child that does not exist, or whose end was not seen.
func (b *begun) failed(text string) outcome.Result {
	return outcome.Result{
		SubagentID: b.id.String(), Status: mg.StatusError, Workspace: mcp.Words(b.workspace), Error: &text, Timeout: b.timeout,
		Warning: outcome.JoinWarnings(b.warnings...),
	}
}
