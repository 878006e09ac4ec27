package massgen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/carry"
	"torno/manager/mcp"
)

func (h *home) sendTool() mcp.Tool {
	return mcp.Tool{
		Name: "send_message_to_subagent", Title: "Send a message to a subagent",
		About: `
Tell a subagent that runs something, to steer it.`,
		Input: `{
"type": "object", "required": ["subagent_id", "message"],
"properties": {
	"subagent_id": {"type": "string"},
	"message": {"type": "string"},
	"target_agents": {"type": ["array", "null"], "items": {"type": "string"}, "description": "agents of its team; by default all"}
}}`,
		Call: h.call(h.send),
	}
}

// sent is the answer to a message.
type sent struct {
	Success    bool         `json:"success"`
	SubagentID string       `json:"subagent_id"`
	Operation  mg.Operation `json:"operation"`
	Error      string       `json:"error,omitempty"`
	Note       string       `json:"note,omitempty"`
}

func (h *home) send(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	call, failure := mg.ParseSend(raw)
	if failure != nil {
		return failed(desk, failure)
	}
	id := call.SubagentID.String()
	s, err := h.who(desk, id)
	if err != nil {
		return trouble(desk, mg.OpSend, err)
	}
	listens := h.listens(desk, s.child)
	s.Answered = s.there && !listens && answered(desk, s.child)
	if failure := call.Check(s.Child); failure != nil {
		return failed(desk, failure)
	}
	answer := sent{Success: true, SubagentID: id, Operation: mg.OpSend}
	if !listens {
		err = h.leaveInbox(desk, call)
		answer.Note = "The message lies in .massgen/runtime_inbox of its workspace. A MassGen child reads it; whether this one does is for the host's profile."
		return sentPage(desk, answer, err)
	}
	if len(call.TargetAgents) > 0 {
		answer.Note = "target_agents was not used: the subagent is one agent."
	}
	err = desk.Send(ctx, id, call.Message)
	if errors.Is(err, manager.ErrNotYet) {
		answer.Note, err = "The agent does not have it yet, and gets it while it works. Do not send it again.", nil
	}
	return sentPage(desk, answer, err)
}

func sentPage(desk *yard, answer sent, err error) (*mcp.Page, error) {
	if err != nil {
		answer.Success, answer.Note, answer.Error = false, "", desk.Why(err)
	}
	return desk.Page().Object(answer)
}

// answered reports whether a running child has already left its answer. A MassGen child does so at its end.
func answered(desk *yard, child mcp.Child) bool {
	root, _, err := desk.OpenWorkspace(child.SubagentID)
	if err != nil {
		return false
	}
	defer root.Close()
	f, seen, err := beneath.OpenFile(root, "answer.txt")
	if err != nil {
		return false
	}
	defer f.Close()
	return !child.RunningSince.IsZero() && seen.ModTime().After(child.RunningSince)
}

// listens reports whether a child's agent takes messages from the host. Any other agent may look into its inbox.
func (h *home) listens(desk *yard, child mcp.Child) bool {
	beat, err := desk.Watcher()
	if err != nil || h.localOf(child.SubagentID) != nil || !slices.Contains(beat.Features, delegation.FeatureInput) {
		return false
	}
	profile := cmp.Or(h.of(child).profile, h.profileOf(beat.Profiles))
	i := slices.IndexFunc(beat.Profiles, func(o delegation.ProfileOffer) bool { return o.Name == profile })
	return i >= 0 && beat.Profiles[i].Input
}

// letter is a message in the inbox of a MassGen child.
type letter struct {
	Content   string   `json:"content"`
	Source    string   `json:"source"`
	Timestamp string   `json:"timestamp"`
	Targets   []string `json:"target_agents"`
}

func (h *home) leaveInbox(desk *yard, call mg.Send) error {
	root, _, err := desk.OpenWorkspace(call.SubagentID.String())
	if err != nil {
		return err
	}
	defer root.Close()
	now := time.Now()
	data, err := json.MarshalIndent(letter{call.Message, "parent", stamp(now), call.TargetAgents}, "", "  ")
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.letters++
	name := fmt.Sprintf(".massgen/runtime_inbox/msg_%d_%d.json", now.Unix(), h.letters)
	h.mu.Unlock()
	return carry.Put(root, name, data)
}

func (h *home) cancelTool() mcp.Tool {
	return mcp.Tool{
		Name: "cancel_subagent", Title: "Cancel a subagent", Ends: true, Repeats: true,
		About: `
Cancel a subagent that runs. What it has made stays in its workspace.`,
		Input: `{"type": "object", "required": ["subagent_id"], "properties": {"subagent_id": {"type": "string"}}}`,
		Call:  h.call(h.cancel),
	}
}

// cancelled is the answer to a cancel.
type cancelled struct {
	Success    bool         `json:"success"`
	Operation  mg.Operation `json:"operation"`
	SubagentID string       `json:"subagent_id"`
	Status     mg.Status    `json:"status"`
	Note       string       `json:"note,omitempty"`
}

// cancelWait bounds how long a cancel waits for the end. MassGen's ladder of signals takes at most 15 seconds.
const cancelWait = 16 * time.Second

func (h *home) cancel(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	call, failure := mg.ParseCancel(raw)
	if failure != nil {
		return failed(desk, failure)
	}
	s, err := h.who(desk, call.SubagentID.String())
	if err != nil {
		return trouble(desk, mg.OpCancel, err)
	}
	if failure := call.Check(s.Child); failure != nil {
		return failed(desk, failure)
	}
	ended, err := h.end(ctx, desk, call.SubagentID.String())
	if err != nil {
		return trouble(desk, mg.OpCancel, err)
	}
	if ended {
		h.dismiss(desk, call.SubagentID.String())
	}
	answer := cancelled{true, mg.OpCancel, call.SubagentID.String(), mg.StatusCancelled, ""}
	if !ended {
		answer.Note = "The host is ending it; list_subagents says when it has."
	}
	return desk.Page().Object(answer)
}

// dismiss keeps the result of a cancelled child from coming by itself. The tools for jobs still return it.
func (h *home) dismiss(desk *yard, id string) {
	child, err := desk.Look(id)
	if err != nil || !child.Ended() {
		return
	}
	if _, err := h.collect(desk, desk.Page(), child, cellRoom); err == nil {
		h.show(child.RequestID)
		desk.Told(child)
	}
}

// end ends a child, and reports whether it is gone.
func (h *home) end(ctx context.Context, desk *yard, id string) (ended bool, err error) {
	timed, done, err := desk.Waiting(ctx, cancelWait)
	if err != nil {
		return false, err
	}
	defer done()
	if err := desk.Cancel(ctx, id); err != nil {
		return false, err
	}
	if err := desk.End(timed, id); err != nil && !mcp.TimeIsUp(timed) {
		return false, err
	}
	return !mcp.TimeIsUp(timed), nil
}
