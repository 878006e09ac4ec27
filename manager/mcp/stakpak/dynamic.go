package stakpak

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

func (t *tasks) dynamicTool() mcp.Tool {
	return mcp.Tool{
		Name: "dynamic_subagent_task", Title: "Start a subagent",
		About: `
Create a subagent for a task: it runs in the background, in a sandbox, with the instructions and the context that you give. Returns the task's id at once; use get_task_details to monitor progress.
The subagent does not know your conversation: give it what was found so far (paths, names, what did not work), not the whole history.`,
		Input: `{
"type": "object", "required": ["description", "instructions", "tools"],
"properties": {
	"description": {"type": "string", "description": "what the task is, in three to five words"},
	"instructions": {"type": "string", "description": "what the subagent is to do, and how it knows that it has done it"},
	"context": {"type": ["string", "null"], "description": "what is known from earlier work: findings, references, what failed"},
	"tools": {"type": "array", "items": {"type": "string"}, "description": "names of the tools that the task needs, as few as possible: view, create, str_replace, insert, run_command, or tools of Claude Code. If the subagent is a Claude Code, it gets these and no others"},
	"max_steps": {"type": ["integer", "null"], "minimum": 1, "description": "steps that the task should take at most; 30 by default"},
	"enable_sandbox": {"type": "boolean", "default": false, "description": "true: the subagent should not ask before it calls tools; the sandbox is there either way"}
}}`,
		Call: t.dynamic,
	}
}

type dynamicInput struct {
	Description   string          `json:"description"`
	Instructions  string          `json:"instructions"`
	Context       *string         `json:"context"`
	Tools         []string        `json:"tools"`
	MaxSteps      *int            `json:"max_steps"`
	EnableSandbox bool            `json:"enable_sandbox"`
	Model         json.RawMessage `json:"model"` // not used: the policy chooses
}

const defaultSteps = 30

// timeLimit bounds how long a task may run. Stakpak has no limit, and the wire's default time suits shorter work.
const timeLimit = 30 * time.Minute

func (t *tasks) dynamic(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[dynamicInput](raw)
	switch {
	case err != nil:
		return nil, err
	case len(in.Tools) == 0:
		return desk.Fail("").Printf("VALIDATION_ERROR: tools array cannot be empty. Provide at least one tool for the subagent."), nil
	case len(in.Tools) > maxTools:
		return nil, mcp.BadArgument("tools", "tools has more than %d names", maxTools)
	case strings.TrimSpace(in.Instructions) == "":
		return nil, mcp.BadArgument("instructions", "instructions is missing: a text that says what to do")
	case in.MaxSteps != nil && *in.MaxSteps < 1:
		return nil, mcp.BadArgument("max_steps", "max_steps must be at least 1")
	}
	beat, err := desk.Watcher()
	if err != nil {
		return startFailed(desk, err), nil
	}
	offer, there := choose(beat.Profiles, !in.EnableSandbox)
	if !there {
		return desk.Fail("").Printf("COMMAND_BUILD_FAILED: Failed to build dynamic subagent command: the host offers no profile with an agent; ask the user for one (agent = claude, for instance)"), nil
	}
	tools := toolsFor(offer, beat.Features, in.Tools)
	if tools.isEmpty() {
		return desk.Fail("").Printf("COMMAND_BUILD_FAILED: Failed to build dynamic subagent command: the subagent's agent has none of these tools: %s. It has view, create, str_replace, insert, run_command, and the tools of Claude Code, such as Read or WebFetch", mcp.Words(strings.Join(in.Tools, ", "))), nil
	}
	model, ask := models.resolve(offer, desk.ParentModel(ctx))
	task := mcp.Task{Text: in.prompt(), Profile: offer.Name, Timeout: limitOf(beat), Settings: tools.settings()}
	if ask {
		task.Model = model
	}
	begun, err := start(ctx, desk, task)
	if err != nil {
		return startFailed(desk, err), nil
	}
	t.remember(begun.Child, memory{description: in.Description, model: task.Model, runs: model, settings: task.Settings})
	page := desk.Page()
	in.created(page, begun, model)
	tools.note(page, offer)
	in.notes(page, begun, task.Timeout)
	if model == "" {
		page.Printf("\nNote: nothing names a model, so the subagent's agent takes its own.")
	}
	return page, nil
}

func startFailed(desk *mcp.Desk, err error) *mcp.Page {
	return desk.Fail("").Printf("TASK_START_FAILED: Failed to start dynamic subagent task: ").Trouble(desk, err)
}

// choose prefers the first agent profile whose approval setting matches asks; otherwise the first agent profile.
func choose(offers []delegation.ProfileOffer, asks bool) (chosen delegation.ProfileOffer, there bool) {
	for _, offer := range offers {
		if offer.Agent == "" {
			continue
		}
		if offer.Approvals == asks {
			return offer, true
		}
		if !there {
			chosen, there = offer, true
		}
	}
	return chosen, there
}

// limitOf returns how long a task may run. The watcher may have a lower limit.
func limitOf(beat delegation.Heartbeat) time.Duration {
	if most := time.Duration(beat.Limits.MaxTimeoutSeconds) * time.Second; most > 0 {
		return min(timeLimit, most)
	}
	return timeLimit
}

func (in dynamicInput) prompt() string {
	if in.Context == nil {
		return in.Instructions
	}
	return fmt.Sprintf("=== CONTEXT (from previous work) ===\n%s\n\n=== YOUR TASK ===\n%s", *in.Context, in.Instructions)
}

// start asks for a task under an unused ID. Six characters give two thousand million IDs, so a second try is rare.
func start(ctx context.Context, desk *mcp.Desk, task mcp.Task) (begun mcp.Begun, err error) {
	for range 5 {
		task.ID = newID()
		begun, err = desk.Start(ctx, task)
		if !errors.Is(err, manager.ErrWorkspaceThere) && !errors.Is(err, manager.ErrOutstanding) {
			break
		}
	}
	return begun, err
}

// newID returns six random characters, [a-z0-9].
func newID() string {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 0, 6)
	for len(id) < cap(id) {
		var b [1]byte
		rand.Read(b[:]) // never fails
		if int(b[0]) < 256/len(digits)*len(digits) {
			id = append(id, digits[int(b[0])%len(digits)])
		}
	}
	return string(id)
}

// created writes Stakpak's text about a new task.
func (in dynamicInput) created(page *mcp.Page, begun mcp.Begun, model string) {
	if model == "" {
		model = "(inherited from parent context)"
	}
	page.Printf("🤖 Dynamic Subagent Created\n\nTask ID: %s\nDescription: %s\nModel: %s\nTools: [%s]\nMax Steps: %d",
		begun.SubagentID, mcp.Words(in.Description), mcp.Words(model), mcp.Words(strings.Join(in.Tools, ", ")), in.steps())
	if in.Context != nil {
		page.Printf("\nContext: %d chars provided", len(*in.Context))
	}
	page.Printf("\nSandbox: enabled (torno isolation)\nStatus: %s\n\n", statusOf(begun.Item))
	page.Printf("The subagent is now running in the background with the specified configuration.\nUse get_task_details to monitor progress and get results.")
}

func (in dynamicInput) steps() int {
	if in.MaxSteps == nil {
		return defaultSteps
	}
	return *in.MaxSteps
}

// notes lists the differences between the call and the actual run.
func (in dynamicInput) notes(page *mcp.Page, begun mcp.Begun, limit time.Duration) {
	page.Printf("\nNote: steps are not counted; the subagent is ended after %d s.", int(limit/time.Second))
	if len(in.Model) > 0 && string(in.Model) != "null" {
		page.Printf("\nNote: the model that you asked for is not used: the host's profile, or else the policy for subagents, chooses.")
	}
	for _, warning := range begun.Warnings {
		page.Printf("\nNote: %s", warning)
	}
}
