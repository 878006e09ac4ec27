package stakpak

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"torno/manager"
	"torno/manager/mcp"
)

func (t *tasks) waitTool() mcp.Tool {
	return mcp.Tool{
		Name: "wait_for_tasks", Title: "Wait for tasks", Reads: true,
		About: `
Wait until background tasks have ended or are Paused. It returns after at most 18 seconds, and says which are still at work: then call it again, or do something else. get_task_details has a task's output.`,
		Input: `{
"type": "object", "required": ["task_ids"],
"properties": {
	"task_ids": {"type": "string", "description": "the tasks, with spaces between them"},
	"timeout": {"type": ["integer", "null"], "minimum": 0, "description": "seconds; more than 18 counts as 18"}
}}`,
		Call: t.wait,
	}
}

type waitInput struct {
	IDs     string `json:"task_ids"`
	Timeout *int   `json:"timeout"`
}

const maxWaited = 64 // tasks of one wait

// limit is how long to wait, and whether the caller has asked for that time.
func (in waitInput) limit() (limit time.Duration, asked bool, err error) {
	if in.Timeout == nil {
		return mcp.MaxWait, false, nil
	}
	if *in.Timeout < 0 {
		return 0, false, mcp.BadArgument("timeout", "timeout must not be below 0")
	}
	most := int(mcp.MaxWait / time.Second)
	return time.Duration(min(*in.Timeout, most)) * time.Second, *in.Timeout <= most, nil
}

func (t *tasks) wait(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[waitInput](raw)
	if err != nil {
		return nil, err
	}
	limit, asked, err := in.limit()
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(in.IDs)
	if len(ids) == 0 {
		return waitFailed(desk).Printf("No task IDs provided. Please provide a space-separated list of task IDs."), nil
	}
	if len(ids) > maxWaited {
		return nil, mcp.BadArgument("task_ids", "%d tasks are too many for one wait: at most %d", len(ids), maxWaited)
	}
	if missing := missingOf(desk, ids); len(missing) > 0 {
		return waitFailed(desk).Printf("Failed to await tasks: Task not found: Tasks not found: %s", mcp.Words(strings.Join(missing, ", "))), nil
	}
	timed, done, err := desk.Waiting(ctx, limit)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := settle(timed, desk, ids); err != nil {
		return waitFailed(desk).Printf("Failed to await tasks: ").Trouble(desk, err), nil
	}
	return t.update(ctx, desk, ids, asked && mcp.TimeIsUp(timed))
}

func waitFailed(desk *mcp.Desk) *mcp.Page { return desk.Fail("AWAIT_TASKS_ERROR") }

func missingOf(desk *mcp.Desk, ids []string) (missing []string) {
	for _, id := range ids {
		if _, err := desk.Find(id); errors.Is(err, manager.ErrNoRun) {
			missing = append(missing, id)
		}
	}
	return missing
}

// settle waits for all of the tasks, or for the end of the time. An error is another trouble than that.
func settle(ctx context.Context, desk *mcp.Desk, ids []string) error {
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			if err := desk.Settle(ctx, id); err != nil && !mcp.TimeIsUp(ctx) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// update says how tasks stand, those that are waited for among them.
func (t *tasks) update(ctx context.Context, desk *mcp.Desk, ids []string, late bool) (*mcp.Page, error) {
	children, more, err := t.newest(ctx, desk)
	if err != nil {
		return nil, err
	}
	children, open := withAll(desk, children, ids)
	page := desk.Page()
	if late && open > 0 {
		page = waitFailed(desk).Printf("Failed to await tasks: Task timeout\n\n")
	}
	page.Printf("═══ Background Tasks Update [%s] ═══\nWaiting for: %s\n\n", time.Now().UTC().Format("15:04:05"), mcp.Words(strings.Join(ids, ", ")))
	for _, child := range children {
		mark := "|"
		if slices.Contains(ids, child.SubagentID) {
			mark = ">"
		}
		now := statusOf(child.Item)
		ran, _ := took(child)
		page.Printf("%s %s %s [%.1fs] %s - %s\n", mark, now.tag(), mcp.Words(child.SubagentID), ran.Seconds(), now, cut(t.command(child), 30))
	}
	page.Printf("\nTotal: %d tasks | Waiting for: %d", len(children), open)
	if more {
		page.Printf("\nThere are older tasks too.")
	}
	if open > 0 {
		page.Printf("\nA call returns after at most %d seconds: call wait_for_tasks again, or do something else meanwhile.", int(mcp.MaxWait/time.Second))
		noteHost(page, desk)
	}
	return page, nil
}

// withAll adds the tasks that are waited for and are not in the outbox any more, and counts those that are still at work.
func withAll(desk *mcp.Desk, children []mcp.Child, ids []string) (all []mcp.Child, open int) {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		at := slices.IndexFunc(children, func(c mcp.Child) bool { return c.SubagentID == id })
		if at < 0 {
			child, err := desk.Find(id)
			if err != nil {
				continue // it was here a moment ago
			}
			at, children = len(children), append(children, child)
		}
		if !statusOf(children[at].Item).final() {
			open++
		}
	}
	return children, open
}
