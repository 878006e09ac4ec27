package stakpak

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

func (t *tasks) resumeTool() mcp.Tool {
	return mcp.Tool{
		Name: "resume_subagent_task", Title: "Resume a subagent", Ends: true,
		About: `
Resume a task that is Paused, by deciding which of the tool calls that it asks about it may do, or one that is Completed, with more to do. get_task_details shows what a paused task asks.
What is approved is that call and no other, once. A call that is not named is rejected. Judge what a call would do: its text is the subagent's.`,
		Input: `{
"type": "object", "required": ["task_id"],
"properties": {
	"task_id": {"type": "string", "description": "the task"},
	"approve": {"type": ["array", "null"], "items": {"type": "string"}, "description": "ids of tool calls to approve; the others are rejected"},
	"reject": {"type": ["array", "null"], "items": {"type": "string"}, "description": "ids of tool calls to reject"},
	"approve_all": {"type": ["boolean", "null"], "description": "approve all tool calls that get_task_details has shown, but those in reject"},
	"reject_all": {"type": ["boolean", "null"], "description": "reject all tool calls"},
	"input": {"type": ["string", "null"], "description": "what to do now, for a task that is Completed; for one that is Paused a message to its agent"}
}}`,
		Call: t.resume,
	}
}

type resumeInput struct {
	ID         string   `json:"task_id"`
	Approve    []string `json:"approve"`
	Reject     []string `json:"reject"`
	ApproveAll bool     `json:"approve_all"`
	RejectAll  bool     `json:"reject_all"`
	Input      string   `json:"input"`
}

// decides reports whether a call decides questions of a task.
func (in resumeInput) decides() bool {
	return in.ApproveAll || in.RejectAll || len(in.Approve) > 0 || len(in.Reject) > 0
}

func (t *tasks) resume(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[resumeInput](raw)
	if err != nil {
		return nil, err
	}
	child, err := desk.Look(in.ID)
	if errors.Is(err, manager.ErrNoRun) {
		return resumeError(desk).Printf("Task not found: %s", mcp.Words(in.ID)), nil
	}
	if err != nil {
		return resumeFailed(desk, err), nil
	}
	switch now := statusOf(child.Item); {
	case now == paused:
		return t.decide(ctx, desk, in, child)
	case child.Ended() && in.decides():
		return resumeError(desk).Printf("Task '%s' has ended (status: %s): it asks nothing any more. Nothing was decided, and nothing was begun. To have a completed task go on, call again with input alone.", mcp.Words(in.ID), now), nil
	case now == completed:
		return t.resumeTask(ctx, desk, in, child)
	default:
		return resumeError(desk).Printf("Task '%s' cannot be resumed (status: %s). Only paused or completed tasks can be resumed.", mcp.Words(in.ID), now), nil
	}
}

func resumeError(desk *mcp.Desk) *mcp.Page { return desk.Fail("RESUME_TASK_ERROR") }

func resumeFailed(desk *mcp.Desk, err error) *mcp.Page {
	return resumeError(desk).Printf("Failed to resume subagent task: ").Trouble(desk, err)
}

func resumed(desk *mcp.Desk, child mcp.Child) *mcp.Page {
	return desk.Page().Printf("🤖 Subagent Task Resumed\n\nTask ID: %s\nStatus: %s\n\nThe subagent is now running. Use get_task_details to monitor progress.",
		mcp.Words(child.SubagentID), statusOf(child.Item))
}

// resumeTask continues a completed task in its workspace, with its conversation, its profile, its model and its tools.
func (t *tasks) resumeTask(ctx context.Context, desk *mcp.Desk, in resumeInput, child mcp.Child) (*mcp.Page, error) {
	if strings.TrimSpace(in.Input) == "" {
		return resumeError(desk).Printf("Task '%s' is completed and asks nothing: say with input what to do now.", mcp.Words(in.ID)), nil
	}
	beat, err := desk.Watcher()
	if err != nil {
		return resumeFailed(desk, err), nil
	}
	if !slices.Contains(beat.Features, delegation.FeatureSessions) {
		return resumeError(desk).Printf("Task '%s' cannot go on: the host keeps no conversations. Start a new one with dynamic_subagent_task, and give it this one's output as context.", mcp.Words(in.ID)), nil
	}
	was := t.of(child)
	if was.settings != nil && !slices.Contains(beat.Features, delegation.FeatureSettings) {
		return resumeError(desk).Printf("Task '%s' cannot go on: the host can no longer keep its agent to the tools %s. Start a new one with dynamic_subagent_task.", mcp.Words(in.ID), mcp.Words(strings.Join(*was.settings.Allow, ", "))), nil
	}
	result, err := desk.Result(child, 0)
	if err != nil {
		return resumeFailed(desk, err), nil
	}
	task := mcp.Task{ID: in.ID, Text: in.Input, Timeout: limitOf(beat), Model: was.model, Settings: was.settings}
	at := slices.IndexFunc(beat.Profiles, func(o delegation.ProfileOffer) bool { return o.Name == result.Profile })
	if was.model == "" && at >= 0 {
		if model, ask := models.resolve(beat.Profiles[at], desk.ParentModel(ctx)); ask {
			task.Model = model
		}
	}
	begun, err := desk.Continue(ctx, task)
	if errors.Is(err, manager.ErrOutstanding) {
		return resumeError(desk).Printf("Task '%s' has an output that you did not get yet: get it with get_task_details, then resume it.", mcp.Words(in.ID)), nil
	}
	if err != nil {
		return resumeFailed(desk, err), nil
	}
	t.remember(begun.Child, memory{description: cmp.Or(was.description, in.Input), model: task.Model, runs: cmp.Or(task.Model, was.runs), settings: was.settings})
	page := resumed(desk, begun.Child)
	if was.request == "" && at >= 0 && toolsFor(beat.Profiles[at], beat.Features, nil).rules != nil {
		page.Printf("\nNote: this server does not know which tools the task was begun with, so the host's profile decides which tools the subagent has now.")
	}
	for _, warning := range begun.Warnings {
		page.Printf("\nNote: %s", warning)
	}
	return page, nil
}

// verdicts holds the decisions of a call, in the order of the questions.
type verdicts struct {
	all     []verdict
	unseen  int      // skipped by approve_all, because they were not shown
	unknown []string // IDs that do not wait
}

type verdict struct {
	asked delegation.PendingApproval
	as    delegation.Decision
}

// judge applies Stakpak's rule. First approve_all counts, then reject_all, then the lists. Without approve_all a call
// that is in no list is rejected. A rejection by ID overrides any approval.
func (t *tasks) judge(session string, in resumeInput, child mcp.Child) (v verdicts) {
	v.unknown = slices.DeleteFunc(slices.Concat(in.Approve, in.Reject), func(id string) bool {
		return slices.ContainsFunc(child.Approvals, func(a delegation.PendingApproval) bool { return callID(a) == id })
	})
	for _, a := range child.Approvals {
		id := callID(a)
		one := verdict{a, delegation.Deny}
		switch {
		case slices.Contains(in.Reject, id):
		case in.ApproveAll && !slices.Contains(in.Approve, id) && !t.wasShown(question{session, child.RequestID, id}):
			v.unseen++
			continue
		case in.ApproveAll, !in.RejectAll && slices.Contains(in.Approve, id):
			one.as = delegation.Approve
		}
		v.all = append(v.all, one)
	}
	return v
}

// decide decides the questions of a paused task.
func (t *tasks) decide(ctx context.Context, desk *mcp.Desk, in resumeInput, child mcp.Child) (*mcp.Page, error) {
	v := t.judge(desk.Session(ctx), in, child)
	if len(v.unknown) > 0 {
		return resumeError(desk).Printf("No tool call with these ids waits in task '%s': %s. get_task_details shows those that do.", mcp.Words(in.ID), mcp.Words(strings.Join(v.unknown, ", "))), nil
	}
	if len(v.all) == 0 {
		return resumeError(desk).Printf("Task '%s' asks what you have not seen whole: look at it with get_task_details, then decide. Nothing was decided.", mcp.Words(in.ID)), nil
	}
	timed, done, err := desk.Waiting(ctx, mcp.MaxWait)
	if err != nil {
		return nil, err
	}
	defer done()
	notes := desk.Page()
	decided, err := v.carryOut(timed, desk, in.ID, notes)
	if decided == 0 {
		return resumeFailed(desk, err), nil
	}
	if v.unseen > 0 {
		notes.Printf("\nNote: %d more tool calls wait, which you have not seen whole: get_task_details shows them.", v.unseen)
	}
	if in.Input != "" {
		say(timed, desk, in, notes)
	}
	now, err := desk.Look(in.ID)
	if err != nil {
		return nil, err
	}
	return resumed(desk, now).Append(notes), nil
}

// carryOut decides one question after the other. It counts the decisions that the host has or will get. The error is
// the first trouble.
func (v verdicts) carryOut(ctx context.Context, desk *mcp.Desk, id string, notes *mcp.Page) (decided int, first error) {
	for _, one := range v.all {
		err := timeLeft(ctx)
		if err == nil {
			err = desk.Decide(ctx, id, one.asked, one.as, "")
		}
		switch {
		case err == nil:
			decided++
		case errors.Is(err, manager.ErrNotYet):
			decided++
			notes.Printf("\nNote: %s of %s: the host does not have it yet, and gets it while the task runs; do not decide it again.", one.as, callID(one.asked))
		default:
			first = cmp.Or(first, err)
			notes.Printf("\nNote: %s was not decided: ", callID(one.asked)).Trouble(desk, err)
		}
	}
	return decided, first
}

// timeLeft fails if a call is over, because then nothing more may be asked of the host.
func timeLeft(ctx context.Context) error {
	cause := context.Cause(ctx)
	if mcp.TimeIsUp(ctx) {
		cause = errTimeIsUp
	}
	return cause
}

var errTimeIsUp = errors.New("the time of this call was up before")

// say sends a message to the agent of a task.
func say(ctx context.Context, desk *mcp.Desk, in resumeInput, notes *mcp.Page) {
	err := timeLeft(ctx)
	if err == nil {
		err = desk.Send(ctx, in.ID, in.Input)
	}
	switch {
	case err == nil:
	case errors.Is(err, manager.ErrNotYet):
		notes.Printf("\nNote: the agent does not have the input yet, and gets it while the task runs; do not send it again.")
	default:
		notes.Printf("\nNote: the input was not given to the agent: ").Trouble(desk, err)
	}
}
