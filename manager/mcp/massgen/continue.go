package massgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/outcome"
	"torno/manager/mcp"
)

func (h *home) continueTool() mcp.Tool {
	return mcp.Tool{
		Name: "continue_subagent", Title: "Continue a subagent", Takes: h.longest(),
		About: `
Have a subagent that has ended go on in its workspace: with its conversation where the host keeps that, and else anew, with its old task and your message.`,
		Input: `{
"type": "object", "required": ["subagent_id", "message"],
"properties": {
	"subagent_id": {"type": "string"},
	"message": {"type": "string", "description": "what to do now"},
	"timeout_seconds": {"type": ["integer", "null"], "minimum": 1},
	"background": {"type": "boolean", "default": false}
}}`,
		Call: h.call(h.continueSubagent),
	}
}

// continued is the answer of a blocking call: the fields of the result, plus the operation and the mode.
type continued struct {
	outcome.Result
	Operation mg.Operation `json:"operation"`
	Mode      string       `json:"mode"`
}

func (h *home) continueSubagent(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	call, failure := mg.ParseContinue(raw)
	if failure != nil {
		return failed(desk, failure)
	}
	s, err := h.who(desk, call.SubagentID.String())
	if err != nil {
		return trouble(desk, mg.OpContinue, err)
	}
	if failure := call.Check(s.Child); failure != nil {
		return failed(desk, failure)
	}
	if err := h.free(desk, call.SubagentID.String()); err != nil {
		return trouble(desk, mg.OpContinue, err)
	}
	b := h.beginAgain(ctx, desk, call, s)
	if b.failure != "" {
		return failed(desk, &mg.Failure{Operation: mg.OpContinue, Text: b.failure})
	}
	if call.Background && h.settings.Background {
		return begunPage(desk, mg.OpContinue, "Results will be automatically injected when subagent completes.", b)
	}
	page := desk.Page()
	results, err := h.await(ctx, desk, page, []*begun{b})
	if err == nil && b.session && refusedNow(desk, b) {
		if b = h.anew(ctx, desk, b, call, s); b.failure != "" {
			return failed(desk, &mg.Failure{Operation: mg.OpContinue, Text: b.failure})
		}
		page = desk.Page()
		results, err = h.await(ctx, desk, page, []*begun{b})
	}
	if err != nil {
		return nil, err
	}
	if results[0].Status == mg.StatusTimeout {
		results[0].Error = &call.TimedOut(b.timeout).Text
	}
	return page.Object(continued{results[0], mg.OpContinue, "blocking"})
}

// refusedNow reports whether the host has refused a run, for instance because it no longer keeps the session.
func refusedNow(desk *yard, b *begun) bool {
	child, err := desk.Look(b.id.String())
	return err == nil && child.RequestID == b.request && child.Reason == delegation.ReasonRefused
}

// beginAgain asks for the next run of a child.
func (h *home) beginAgain(ctx context.Context, desk *yard, call mg.Continue, s subject) *begun {
	background := call.Background && h.settings.Background
	b := &begun{id: call.SubagentID, workspace: s.Workspace, kid: kid{
		kind: h.of(s.child).kind, profile: h.of(s.child).profile, task: layout.Preview(call.Message), background: background, blocking: !background,
		timeout: h.settings.Clamp(call.Timeout), began: time.Now(),
	}}
	err := errNoSession
	if s.SessionID != "" {
		err = h.bySession(ctx, desk, b, call)
	}
	if _, refused := errors.AsType[*delegation.Refusal](err); refused || errors.Is(err, errNoSession) {
		return h.anew(ctx, desk, b, call, s)
	}
	if err != nil {
		b.failure = desk.Why(err)
	}
	return b
}

var errNoSession = errors.New("the host keeps no session of it")

// bySession asks the host to go on with the conversation that it has kept.
func (h *home) bySession(ctx context.Context, desk *yard, b *begun, call mg.Continue) error {
	child, err := desk.Continue(ctx, mcp.Task{
		ID: b.id.String(), Text: call.Message, Timeout: time.Duration(b.timeout) * time.Second, AnswerFile: "answer_continued.txt",
	})
	if err != nil {
		return err
	}
	b.request, b.workspace, b.session = child.RequestID, child.Workspace, true
	b.warnings = append(b.warnings, child.Warnings...)
	h.remember(b.id.String(), b.kid)
	return h.update(func(r *layout.Registry) {
		if entry := r.Find(b.id.String()); entry != nil {
			entry.Status, entry.LastContinuedAt = mg.StatusRunning, stamp(b.began)
		}
	})
}

// anew starts the child again in its workspace, with its old task and the new message.
func (h *home) anew(ctx context.Context, desk *yard, b *begun, call mg.Continue, s subject) *begun {
	types, err := h.types()
	if err != nil {
		b.failure = desk.Why(err)
		return b
	}
	old := s.entry.Task
	err = h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		whole, err := tree.Task(b.id)
		if err == nil {
			old = whole
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		b.failure = desk.Why(err)
		return b
	}
	task := mg.Task{ID: b.id, Task: old + "\n\n" + call.Message, Type: b.kind, IncludeParent: true, IncludeTemp: true, Timeout: b.timeout}
	if traces := tracesOf(desk, b.id.String()); len(traces) > 0 {
		task.SystemPrompt = "You were at this task before. What you did then is in your workspace: " + strings.Join(traces, ", ") + "."
	}
	return h.begin(ctx, desk, task, terms{refine: true, background: b.background, continued: true, types: types})
}

const maxTraces = 16

// tracesOf returns the traces of a child's earlier run, in its workspace: snapshots/*/execution_trace.md.
func tracesOf(desk *yard, id string) (all []string) {
	root, _, err := desk.OpenWorkspace(id)
	if err != nil {
		return nil
	}
	defer root.Close()
	dir, err := beneath.Dir(root, "snapshots")
	if err != nil {
		return nil
	}
	defer dir.Close()
	held, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer held.Close()
	entries, _ := held.ReadDir(maxTraces)
	for _, entry := range entries {
		name := fmt.Sprintf("snapshots/%s/execution_trace.md", entry.Name())
		if f, _, err := beneath.OpenFile(root, name); err == nil {
			f.Close()
			all = append(all, mcp.Words(name))
		}
	}
	slices.Sort(all)
	return all
}
