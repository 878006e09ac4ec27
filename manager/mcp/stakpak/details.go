package stakpak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

func (t *tasks) detailsTool() mcp.Tool {
	return mcp.Tool{
		Name: "get_task_details", Title: "Details of a task", Reads: true,
		About: `
Get where a background task stands, its output when it has ended, and the tool calls that it asks about while it is Paused.`,
		Input: `{
"type": "object", "required": ["task_id"],
"properties": {"task_id": {"type": "string", "description": "the task"}}
}`,
		Call: t.details,
	}
}

// taskInput holds the arguments of tools about one task.
type taskInput struct {
	ID string `json:"task_id"`
}

func (t *tasks) details(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[taskInput](raw)
	if err != nil {
		return nil, err
	}
	leave, err := t.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	child, result, err := look(desk, in.ID)
	if errors.Is(err, manager.ErrNoRun) {
		return desk.Fail("TASK_NOT_FOUND").Printf("Task not found: %s", mcp.Words(in.ID)), nil
	}
	if err != nil {
		return desk.Fail("GET_TASK_DETAILS_ERROR").Printf("Failed to get task details: ").Trouble(desk, err), nil
	}
	page := desk.Page()
	id := mcp.Words(child.SubagentID)
	now := statusOf(child.Item)
	page.Printf("# Task Details: %s\n\nStatus: %s\nTask ID: %s\nStarted: %s\nDuration: %s\n\n## Output:\n", id, now, id, started(child).UTC().Format(clock), duration(child))
	switch {
	case child.Ended():
		showEnd(page, desk, result, now, t.of(child).runs)
		desk.Told(child)
	case now == paused:
		page.Printf("## Subagent Result: ⏸ Paused\n\n")
		showPrinted(ctx, page, desk, child, "### Response:\n", "\n")
		t.showQuestions(ctx, page, desk, child)
	default:
		if !showPrinted(ctx, page, desk, child, "### So far:\n", "") {
			page.Printf("No output available")
		}
	}
	if !child.Ended() {
		noteHost(page, desk)
	}
	return page, nil
}

// wholeAnswer bounds how much of an answer the outbox gives at once.
const wholeAnswer = 1 << 20

// look finds a task, with its result if it has ended. If the result was taken meanwhile, or another run began, it looks
// again.
func look(desk *mcp.Desk, id string) (child mcp.Child, result manager.Result, err error) {
	for range 3 {
		child, err = desk.Look(id)
		if err != nil || !child.Ended() {
			return child, result, err
		}
		result, err = desk.Result(child, wholeAnswer)
		if err == nil {
			return child, result, nil
		}
	}
	return child, result, err
}

// showPrinted shows the end of the output of a running task, and reports whether there is any. If the output cannot be
// read, it adds a note, because the rest is still worth an answer.
func showPrinted(ctx context.Context, page *mcp.Page, desk *mcp.Desk, child mcp.Child, before, after string) bool {
	text, err := desk.Printed(ctx, child)
	if err != nil {
		page.Printf("Note: its output was not read: ").Trouble(desk, err).Printf("\n")
	}
	if strings.TrimSpace(text) == "" {
		return false
	}
	page.Printf("%s", before)
	page.Quote(text, maxTail)
	page.Printf("%s", after)
	return true
}

// noteHost adds a note if nothing goes on because no watcher serves the outbox.
func noteHost(page *mcp.Page, desk *mcp.Desk) {
	if _, err := desk.Watcher(); err != nil {
		page.Printf("\n\nNote: ").Trouble(desk, err)
	}
}

const (
	maxAnswer = 24_000 // bytes of JSON
	maxTail   = 4_000
)

// showEnd shows the same facts that Stakpak shows from a task's manifest. model is the task's model, as far as is known.
func showEnd(page *mcp.Page, desk *mcp.Desk, result manager.Result, now status, model string) {
	icon := "✗"
	if now == completed {
		icon = "✓"
	}
	page.Printf("## Subagent Result: %s %s\n\n**Steps**: %s", icon, now, stepsOf(result.Usage))
	if model != "" {
		page.Printf(" | **Model**: %s", mcp.Words(model))
	}
	if result.Profile != "" {
		page.Printf(" | **Profile**: %s", mcp.Words(result.Profile))
	}
	page.Printf("\n\n")
	if now != completed {
		page.Printf("The task %s.\n\n", desk.How(result))
	}
	for _, warning := range result.Warnings {
		page.Printf("Warning: %s\n\n", mcp.Words(warning))
	}
	if result.AnswerErr != nil {
		page.Printf("Its answer was not read:\n")
		page.Quote(result.AnswerErr.Error(), maxTail)
	}
	if result.Answer == "" {
		showTails(page, result)
		return
	}
	page.Printf("### Response:\n")
	used := page.Quote(result.Answer, maxAnswer)
	switch {
	case used < len(result.Answer):
		page.Printf("\n[the first %d of %d bytes; the resource torno://%s/answer has more]\n", used, len(result.Answer), result.SubagentID)
	case result.AnswerTruncated:
		page.Printf("\n[there is more in %s]\n", mcp.Words(result.AnswerWhole))
	}
}

// stepsOf returns how often the task has asked its model, if that was counted.
func stepsOf(usage *delegation.Usage) string {
	if usage == nil || usage.Model == nil {
		return "unknown"
	}
	return fmt.Sprint(usage.Model.Requests)
}

// showTails shows the ends of the output of a task without an answer. After a refusal the tails are the host's
// sentence, and that stands above already.
func showTails(page *mcp.Page, result manager.Result) {
	if result.Error != nil || result.StdoutTail == "" && result.StderrTail == "" {
		page.Printf("No output available")
		return
	}
	for _, tail := range []struct{ name, text string }{{"standard output", result.StdoutTail}, {"standard error", result.StderrTail}} {
		if tail.text != "" {
			page.Printf("### The end of its %s:\n", tail.name)
			page.Quote(tail.text, maxTail)
		}
	}
}

const (
	maxQuestions = 4
	maxAsked     = 5_000 // bytes of JSON per question
)

// callID returns the ID under which a question appears as a waiting tool call: its number in its run, and the beginning
// of its digest. The digest covers the whole question.
func callID(a delegation.PendingApproval) string {
	return mcp.Words(fmt.Sprintf("call_%d_%.16s", a.Approval, a.Digest))
}

// showQuestions shows the questions of a paused task. It remembers the questions that it has shown whole.
func (t *tasks) showQuestions(ctx context.Context, page *mcp.Page, desk *mcp.Desk, child mcp.Child) {
	page.Printf("### Pending Tool Calls (awaiting approval):\n")
	var approvable string
	for _, a := range child.Approvals[:min(len(child.Approvals), maxQuestions)] {
		id := callID(a)
		whole := showQuestion(page, a)
		if whole && ctx.Err() == nil { // otherwise the answer does not reach the client
			t.noteShown(question{desk.Session(ctx), child.RequestID, id})
		}
		if whole && mcp.ForParent(a) && approvable == "" {
			approvable = id
		}
	}
	if more := len(child.Approvals) - maxQuestions; more > 0 {
		page.Printf("and %d more, which are shown when these are decided\n", more)
	}
	switch {
	case approvable != "":
		page.Printf("\n**Resume hint**: `resume_subagent_task {\"task_id\": %q, \"approve\": [%q]}`; what is not named is rejected\n", child.SubagentID, approvable)
	case slices.ContainsFunc(child.Approvals, mcp.ForParent):
		page.Printf("\n**Resume hint**: `resume_subagent_task {\"task_id\": %q, \"reject_all\": true}` rejects what cannot be seen whole\n", child.SubagentID)
	default:
		page.Printf("\nTell the user that the operator decides this on the host, with watcher approve or watcher deny.\n")
	}
}

// showQuestion shows one question, and reports whether it was shown whole.
func showQuestion(page *mcp.Page, a delegation.PendingApproval) (whole bool) {
	page.Printf("- (id: `%s`), rejected at %s if it is not decided before\n", callID(a), a.ExpiresAt.UTC().Format(clock))
	name := page.Quote(a.Tool, maxAsked)
	used := page.Quote(a.Arguments, maxAsked)
	whole = !a.Cut && name == len(a.Tool) && used == len(a.Arguments)
	switch {
	case !mcp.ForParent(a):
		page.Printf("  it is for the operator alone to decide\n")
	case !whole:
		page.Printf("  it is longer than that: approve_all does not approve it, its id does\n")
	}
	return whole
}
