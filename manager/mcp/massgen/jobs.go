package massgen

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	mg "torno/manager/massgen"
	"torno/manager/mcp"
)

// A job is a child in the background. MassGen uses this name in the tools that look after such children.

func (h *home) startTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__start_background_tool", Title: "Start a tool in the background",
		About: `
Start spawn_subagents or continue_subagent in the background. Returns the jobs' ids at once.`,
		Input: `{
"type": "object",
"properties": {
	"tool_name": {"type": "string", "description": "the tool"}, "tool": {"type": "string", "description": "the same"},
	"arguments": {"type": "object", "description": "its arguments"}, "args": {"type": "object", "description": "the same"}
}}`,
		Call: h.call(h.start),
	}
}

func (h *home) statusTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__get_background_tool_status", Title: "Status of a background job", Reads: true,
		About: `
Where a background job stands.`,
		Input: jobInput, Call: h.call(h.status),
	}
}

func (h *home) resultTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__get_background_tool_result", Title: "Result of a background job", Reads: true,
		About: `
The result of a background job, when it has ended.`,
		Input: jobInput, Call: h.call(h.result),
	}
}

func (h *home) cancelJobTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__cancel_background_tool", Title: "Cancel a background job", Ends: true, Repeats: true,
		About: `
Cancel a background job.`,
		Input: jobInput, Call: h.call(h.cancelJob),
	}
}

func (h *home) listJobsTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__list_background_tools", Title: "List background jobs", Reads: true,
		About: `
List background jobs, the newest first: those that run, and with include_all those that have ended as well.`,
		Input: `{"type": "object", "properties": {"include_all": {"type": "boolean", "default": false}}}`,
		Call:  h.call(h.listJobs),
	}
}

const jobInput = `{"type": "object", "required": ["job_id"], "properties": {"job_id": {"type": "string", "description": "the job, which is the subagent"}}}`

// job is a job as all of these tools show it.
type job struct {
	JobID      string            `json:"job_id"`
	SubagentID string            `json:"subagent_id"`
	ToolName   string            `json:"tool_name"`
	ToolType   string            `json:"tool_type"`
	Status     mg.Status         `json:"status"`
	CreatedAt  string            `json:"created_at"`
	Result     *string           `json:"result,omitempty"`
	Error      *string           `json:"error,omitempty"`
	Arguments  map[string]string `json:"arguments,omitempty"`
	Warning    string            `json:"warning,omitempty"`
}

// jobAnswer is the answer of a tool about a job.
type jobAnswer struct {
	Success bool `json:"success"`
	job
	Ready   *bool    `json:"ready,omitempty"`
	Waited  *float64 `json:"waited_seconds,omitempty"`
	Message string   `json:"message,omitempty"`
}

// jobFailure is the answer of a tool that has done nothing.
type jobFailure struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
}

func jobFailed(desk *yard, format string, args ...any) (*mcp.Page, error) {
	return desk.Page().Object(jobFailure{Error: mcp.Words(fmt.Sprintf(format, args...))})
}

// jobOf describes a child as a job. If the child has ended, its result is included, within room.
func (h *home) jobOf(desk *yard, page *mcp.Page, child mcp.Child, room int) (job, error) {
	id := mcp.Words(child.SubagentID)
	j := job{JobID: id, SubagentID: id, ToolName: "subagent", ToolType: "subagent", Status: mg.StatusRunning, CreatedAt: stamp(child.CreatedAt)}
	if !child.Ended() {
		task, _ := page.Field(h.of(child).task, cellRoom)
		if task != "" {
			j.Arguments = map[string]string{"task": task}
		}
		return j, nil
	}
	s, err := h.collect(desk, page, child, room)
	if err != nil {
		return j, err
	}
	j.Status, j.Result, j.Error, j.Warning = s.job, s.Answer, s.Error, s.Warning
	return j, nil
}

// named finds the job that a call names. failure is the answer if there is none.
func (h *home) named(desk *yard, raw json.RawMessage) (child mcp.Child, failure *mcp.Page, err error) {
	in, err := mcp.Arguments[struct {
		ID string `json:"job_id"`
	}](raw)
	if err != nil {
		return child, nil, err
	}
	if strings.TrimSpace(in.ID) == "" {
		failure, err = jobFailed(desk, "job_id is required")
		return child, failure, err
	}
	s, err := h.who(desk, in.ID)
	if err != nil {
		failure, err = jobFailed(desk, "%s", desk.Why(err))
		return child, failure, err
	}
	if !s.there || !s.Known {
		failure, err = jobFailed(desk, "Background job not found: %.200s", in.ID)
		return child, failure, err
	}
	return s.child, nil, nil
}

func (h *home) status(_ context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	child, failure, err := h.named(desk, raw)
	if err != nil || failure != nil {
		return failure, err
	}
	page := desk.Page()
	j, err := h.jobOf(desk, page, child, cellRoom)
	if err != nil {
		return jobFailed(desk, "%s", desk.Why(err))
	}
	j.Result = nil // get_background_tool_result returns it
	return page.Object(jobAnswer{Success: true, job: j})
}

func (h *home) result(_ context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	child, failure, err := h.named(desk, raw)
	if err != nil || failure != nil {
		return failure, err
	}
	page := desk.Page()
	j, err := h.jobOf(desk, page, child, maxAnswer)
	if err != nil {
		return jobFailed(desk, "%s", desk.Why(err))
	}
	ready := child.Ended()
	answer := jobAnswer{Success: true, job: j, Ready: &ready}
	if !ready {
		answer.Message = "Subagent still running"
		return page.Object(answer)
	}
	h.show(child.RequestID)
	desk.Told(child)
	return page.Object(answer)
}

func (h *home) cancelJob(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	child, failure, err := h.named(desk, raw)
	if err != nil || failure != nil {
		return failure, err
	}
	if !child.Ended() {
		if _, err := h.end(ctx, desk, child.SubagentID); err != nil {
			return jobFailed(desk, "%s", desk.Why(err))
		}
		if child, err = desk.Look(child.SubagentID); err != nil {
			return jobFailed(desk, "%s", desk.Why(err))
		}
	}
	page := desk.Page()
	j, err := h.jobOf(desk, page, child, maxAnswer)
	if err != nil {
		return jobFailed(desk, "%s", desk.Why(err))
	}
	if child.Ended() {
		h.show(child.RequestID)
		desk.Told(child)
	}
	return page.Object(jobAnswer{Success: true, job: j})
}

// maxJobs bounds a list of jobs. The list keeps the newest.
const maxJobs = 50

func (h *home) listJobs(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[struct {
		All bool `json:"include_all"`
	}](raw)
	if err != nil {
		return nil, err
	}
	children, err := h.children(ctx, desk)
	if err != nil {
		return jobFailed(desk, "%s", desk.Why(err))
	}
	page := desk.Page()
	answer := struct {
		Success bool  `json:"success"`
		Count   int   `json:"count"`
		All     bool  `json:"include_all"`
		Jobs    []job `json:"jobs"`
	}{Success: true, All: in.All, Jobs: []job{}}
	for _, child := range slices.Backward(children) {
		if child.Ended() && !in.All {
			continue
		}
		if len(answer.Jobs) == maxJobs {
			break
		}
		j, err := h.jobOf(desk, page, child, cellRoom/2)
		if err != nil {
			return jobFailed(desk, "%s", desk.Why(err))
		}
		answer.Jobs = append(answer.Jobs, j)
	}
	answer.Count = len(answer.Jobs)
	return page.Object(answer)
}

// children returns this parent's children in the outbox, the oldest first, except those that a call waits for.
func (h *home) children(ctx context.Context, desk *yard) (all []mcp.Child, err error) {
	list, err := desk.List(ctx)
	if err != nil {
		return nil, err
	}
	registry, err := h.registry()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range registry.Subagents {
		known[registry.Subagents[i].SubagentID] = true
	}
	for i := range list.Items {
		child := mcp.Child{Item: list.Items[i]}
		if known[child.SubagentID] && !h.of(child).blocking {
			all = append(all, child)
		}
	}
	return all, nil
}
