package mcp

import (
	"context"
	"fmt"
	"strings"

	"torno/delegation"
)

var continueTool = tool{
	name: "continue", title: "Continue a subagent", feature: delegation.FeatureSessions,
	about: `
Continue the conversation of a subagent that has ended, in the same workspace and with the same profile, in a new sandbox: for a follow-up, for a correction, or after a run that was cancelled or timed out. Returns at once; call wait for its answer.
The subagent knows the words and actions of its earlier run, but nothing of your conversation since then: say in the task what is new. Get its earlier result with wait first. If the subagent is still at work, use send instead.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["id", "task"],
"properties": {
	"id": {"type": "string", "description": "the id of the subagent"},
	"task": {"type": "string", "description": "the next message of its conversation: what to do now"},
	"context": {"type": "array", "items": {"type": "string"}, "description": "files and directories that it may read; it does not keep the context of its earlier run"},
	"profile": {"type": "string", "description": "another profile with the same agent; by default the profile of its earlier run"},
	"model": {"type": "string", "description": "the model, if the profile lets you choose it"},
	"timeout_seconds": {"type": "integer", "minimum": 1, "description": "how long it may run; by default the time that its profile gives"}
}}`,
	call: does(continueSession),
}

type continueInput struct {
	ID      string   `json:"id"`
	Task    string   `json:"task"`
	Context []string `json:"context"`
	Profile string   `json:"profile"`
	Model   string   `json:"model"`
	Seconds *int     `json:"timeout_seconds"`
}

// continued tells how a continuation began.
type continued struct {
	started
	Budget budgetNow `json:"budget"`
	Next   string    `json:"next"`
}

func (c continued) say() string {
	var b strings.Builder
	fmt.Fprintf(&b, "subagent %s goes on, workspace %s\n", c.ID, c.Workspace)
	for _, text := range c.Warnings {
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String() + c.Budget.say() + "next: " + c.Next
}

func (in continueInput) check() error {
	switch {
	case in.ID == "":
		return badArgument("id", "id is missing: it names the subagent")
	case strings.TrimSpace(in.Task) == "":
		return badArgument("task", "task is missing: a text that says what to do now")
	}
	return checkSeconds("timeout_seconds", in.Seconds)
}

// continueSession handles the tool continue; "continue" itself is a keyword of Go. The continued child counts like any other.
func continueSession(ctx context.Context, s *Server, in continueInput) (answer, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	budget, leave, err := s.budgets.enter(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	defer leave()
	task := taskInput{ID: in.ID, Task: in.Task, Context: in.Context, Profile: in.Profile, Model: in.Model, Seconds: in.Seconds}
	one, err := s.start(ctx, task, s.m.Continue)
	if err != nil {
		return nil, err
	}
	budget.Children++
	return continued{started: one, Budget: s.budgets.warn(budget), Next: "go on with your own work, then call wait with its id"}, nil
}
