package stakpak

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
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

const maxWaited = 64 // tasks per wait

// limit returns how long to wait, and whether the caller has asked for that time.
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
	troubles := settle(timed, desk, ids)
	if err := context.Cause(timed); err != nil && !mcp.TimeIsUp(timed) {
		return nil, err // the client has ended, or no longer waits
	}
	leave, err := t.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return t.update(ctx, desk, awaited{ids, troubles, asked && mcp.TimeIsUp(timed)})
}

func waitFailed(desk *mcp.Desk) *mcp.Page { return desk.Fail("AWAIT_TASKS_ERROR") }

func missingOf(desk *mcp.Desk, ids []string) (missing []string) {
	for _, id := range ids {
		if _, err := desk.Look(id); errors.Is(err, manager.ErrNoRun) {
			missing = append(missing, id)
		}
	}
	return missing
}

// settle waits until all tasks are settled or the time is up. It returns the other errors, by task ID.
func settle(ctx context.Context, desk *mcp.Desk, ids []string) map[string]error {
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		all.Go(func() {
			if err := desk.Settle(ctx, id); err != nil && !mcp.TimeIsUp(ctx) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	troubles := map[string]error{}
	for i, err := range errs {
		if err != nil {
			troubles[ids[i]] = err
		}
	}
	return troubles
}

// awaited holds the outcome of a wait.
type awaited struct {
	ids      []string
	troubles map[string]error // by task; ignored for a task that has ended all the same
	late     bool             // the time that the caller has asked for is up
}

// update reports the state of the tasks, and marks the awaited ones.
func (t *tasks) update(ctx context.Context, desk *mcp.Desk, w awaited) (*mcp.Page, error) {
	list, err := t.newest(ctx, desk)
	if err != nil {
		return nil, err
	}
	all, open := w.complete(desk, list.tasks)
	page := desk.Page()
	switch {
	case len(w.troubles) > 0 && len(w.troubles) == open:
		page = waitFailed(desk).Printf("Failed to await tasks\n\n")
	case w.late && open > 0:
		page = waitFailed(desk).Printf("Failed to await tasks: Task timeout\n\n")
	}
	page.Printf("═══ Background Tasks Update [%s] ═══\nWaiting for: %s\n\n", time.Now().UTC().Format("15:04:05"), mcp.Words(strings.Join(w.ids, ", ")))
	for _, one := range all {
		mark := " "
		if slices.Contains(w.ids, one.SubagentID) {
			mark = ">"
		}
		now := statusOf(one.Item)
		ran, _ := took(one.Child)
		page.Printf("%s %s %s [%.1fs] %s - %s\n", mark, now.tag(), mcp.Words(one.SubagentID), ran.Seconds(), now, first(t.command(one.Child), 30))
	}
	page.Printf("\nTotal: %d tasks | Waiting for: %d", len(all), open)
	if list.more {
		page.Printf("\nThere are older tasks too.")
	}
	list.noteTroubles(page, desk)
	for _, id := range slices.Sorted(maps.Keys(w.troubles)) {
		page.Printf("\nNote: %s was not waited for: ", mcp.Words(id)).Trouble(desk, w.troubles[id])
	}
	if at := slices.IndexFunc(all, func(one listed) bool { return operatorDecides(one.Item) && slices.Contains(w.ids, one.SubagentID) }); at >= 0 {
		page.Printf("\nNote: tell the user that %s waits for the operator, who decides on the host, with watcher approve or watcher deny.", mcp.Words(all[at].SubagentID))
	}
	if open > 0 {
		page.Printf("\nA call returns after at most %d seconds: call wait_for_tasks again, or do something else meanwhile.", int(mcp.MaxWait/time.Second))
		noteHost(page, desk)
	}
	return page, nil
}

// complete brings the awaited tasks up to date, because the listing may be a moment old. open counts the tasks that are
// still at work or whose state is unknown.
func (w awaited) complete(desk *mcp.Desk, all []listed) (_ []listed, open int) {
	for i, id := range w.ids {
		if slices.Contains(w.ids[:i], id) {
			continue
		}
		at := slices.IndexFunc(all, func(one listed) bool { return one.SubagentID == id })
		if at < 0 || !all[at].Taken {
			child, err := desk.Look(id)
			if err != nil {
				w.troubles[id] = cmp.Or(w.troubles[id], err)
				open++
				continue
			}
			if at < 0 {
				at, all = len(all), append(all, listed{})
			}
			all[at].Child = mcp.Child{Item: child.Item, Taken: child.Taken} // drop the result's copy; it may be long
		}
		if settled(all[at].Item) {
			delete(w.troubles, id)
		} else {
			open++
		}
	}
	return all, open
}
