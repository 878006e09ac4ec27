package stakpak

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"torno/manager"
	"torno/manager/mcp"
)

func (t *tasks) cancelTool() mcp.Tool {
	return mcp.Tool{
		Name: "cancel_task", Title: "Cancel a task", Ends: true, Repeats: true,
		About: `
Cancel a background task that is not needed any more. The task stays to be looked at by get_task_details.`,
		Input: `{
"type": "object", "required": ["task_id"],
"properties": {"task_id": {"type": "string", "description": "the task"}}
}`,
		Call: t.cancel,
	}
}

// info is a task as cancel_task shows it. It contains no text of the child.
type info struct {
	ID       string `json:"id"`
	Status   status `json:"status"`
	Command  string `json:"command"`
	Started  string `json:"start_time"`
	Duration string `json:"duration"`
}

// cancelWait bounds how long a call waits for the end of the task that it cancels. Most tasks are gone by then.
const cancelWait = 5 * time.Second

func (t *tasks) cancel(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[taskInput](raw)
	if err != nil {
		return nil, err
	}
	failed := desk.Fail("CANCEL_TASK_ERROR").Printf("Failed to cancel task: ")
	child, err := desk.Look(in.ID)
	switch {
	case errors.Is(err, manager.ErrNoRun):
		return failed.Printf("Task not found: %s", mcp.Words(in.ID)), nil
	case err != nil:
		return failed.Trouble(desk, err), nil
	case child.Ended():
		return failed.Printf("Task '%s' has ended already (status: %s). get_task_details has its output.", mcp.Words(in.ID), statusOf(child.Item)), nil
	}
	timed, done, err := desk.Waiting(ctx, cancelWait)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := desk.Cancel(ctx, in.ID); err != nil {
		return failed.Trouble(desk, err), nil
	}
	if err := desk.End(timed, in.ID); err != nil && !mcp.TimeIsUp(timed) {
		return failed.Trouble(desk, err), nil
	}
	return t.cancelled(desk, in.ID)
}

// cancelled says whether the task is cancelled, is still ending, or ended before.
func (t *tasks) cancelled(desk *mcp.Desk, id string) (*mcp.Page, error) {
	child, err := desk.Look(id)
	if err != nil {
		return nil, err
	}
	about, err := json.MarshalIndent(info{
		ID: mcp.Words(child.SubagentID), Status: statusOf(child.Item), Command: t.command(child),
		Started: started(child).UTC().Format(time.RFC3339), Duration: duration(child),
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	page := desk.Page()
	if !child.Ended() {
		page.Printf("Task is being cancelled; get_task_details says when it has ended:\n%s", about)
		noteHost(page, desk)
		return page, nil
	}
	if statusOf(child.Item) != cancelled {
		return page.Printf("Task ended before it was cancelled:\n%s", about), nil
	}
	return page.Printf("Task cancelled:\n%s", about), nil
}
