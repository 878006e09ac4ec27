package massgen

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/modes"
	"torno/manager/massgen/outcome"
	"torno/manager/massgen/profile"
	"torno/manager/mcp"
)

func (h *home) spawnTool() mcp.Tool {
	return mcp.Tool{
		Name: "spawn_subagents", Title: "Spawn subagents", Takes: h.longest(),
		About: `
Spawn subagents for independent tasks, which run in parallel, each in a workspace of its own. It waits for all results unless background is true.
CONTEXT.md must be in your workspace before: it is all that a subagent knows of your work beside its task.
` + h.offer(),
		Input: `{
"type": "object", "required": ["tasks"],
"properties": {
	"tasks": {"type": "array", "items": {"type": "object", "required": ["task"], "properties": {
		"task": {"type": "string", "description": "what to do, complete in itself"},
		"subagent_id": {"type": "string", "description": "a name; by default subagent_0, subagent_1 and so on"},
		"subagent_type": {"type": "string", "description": "one of the kinds of subagents above; by default none"},
		"include_parent_workspace": {"type": "boolean", "default": true, "description": "it may read your workspace"},
		"include_temp_workspace": {"type": "boolean", "default": true, "description": "it may read the workspaces of your peers"},
		"context_paths": {"type": "array", "items": {"type": "string"}, "description": "more that it may read"},
		"context_files": {"type": "array", "items": {"type": "string"}, "description": "files of your workspace that are copied into its own"},
		"model": {"type": "string"}, "system_prompt": {"type": "string"}, "skills": {"type": "array", "items": {"type": "string"}},
		"metadata": {"type": "object"}, "timeout_seconds": {"type": "integer", "minimum": 1}}}},
	"background": {"type": "boolean", "default": false, "description": "return at once; results come later"},
	"refine": {"type": "boolean", "default": true, "description": "false: one answer, without rounds"},
	"context_paths": {"type": ["array", "null"], "items": {"type": "string"}, "description": "what all of them may read"}
}}`,
		Call: h.call(h.spawn),
	}
}

// offer says how many tasks a call may have, and lists the kinds of subagents that were there when the server started.
func (h *home) offer() string {
	text := fmt.Sprintf("At most %d tasks in a call.", h.settings.MaxConcurrent)
	types, err := h.types()
	if err != nil || len(types) == 0 {
		return text // a call says what is wrong
	}
	text += "\nKinds of subagents:"
	for _, kind := range types {
		text += "\n- " + mcp.Words(kind.Name) + ": " + mcp.Words(kind.Description)
	}
	return text
}

// longest returns how long a call may block: as long as a child may run, plus the time that MassGen adds.
func (h *home) longest() time.Duration {
	return time.Duration(h.settings.Max)*time.Second + 90*time.Second
}

func (h *home) spawn(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	types, err := h.types()
	if err != nil {
		return trouble(desk, mg.OpSpawn, err)
	}
	parent, err := h.parent(ctx, desk, types)
	if err != nil {
		return trouble(desk, mg.OpSpawn, err)
	}
	spawn, failure := mg.ParseSpawn(raw, parent)
	if failure != nil {
		return failed(desk, failure)
	}
	background := spawn.Background && h.settings.Background
	all := make([]*begun, len(spawn.Tasks))
	for i, task := range spawn.Tasks {
		all[i] = h.begin(ctx, desk, task, terms{refine: spawn.Refine, background: background, types: types})
	}
	if background {
		return begunPage(desk, mg.OpSpawn, "Results will be automatically injected when subagents complete.", all...)
	}
	return h.block(ctx, desk, all)
}

// parent returns the facts against which a call is checked.
func (h *home) parent(ctx context.Context, desk *yard, types []profile.Profile) (mg.Parent, error) {
	list, err := desk.List(ctx)
	if err != nil {
		return mg.Parent{}, err
	}
	registry, err := h.registry()
	if err != nil {
		return mg.Parent{}, err
	}
	taken := map[string]bool{}
	for i := range registry.Subagents {
		taken[registry.Subagents[i].SubagentID] = true
	}
	parent := mg.Parent{
		Workspace: h.settings.Workspace, MaxTasks: h.settings.MaxConcurrent, InheritsBackend: h.settings.Orchestrator.Inherit,
		Exists: func(path string) bool {
			if !filepath.IsAbs(path) {
				path = filepath.Join(h.settings.Workspace, path)
			}
			_, err := os.Stat(path)
			return err == nil
		},
	}
	for i := range list.Items {
		taken[list.Items[i].SubagentID] = true
		if list.Items[i].Status == "" {
			parent.Running = append(parent.Running, list.Items[i].SubagentID)
		}
	}
	for _, p := range types {
		parent.Types = append(parent.Types, p.Name)
	}
	parent.NextID = func() string { return h.nextID(desk, taken) }
	return parent, nil
}

// nextID returns an ID that no child has had. The counter begins anew with each server, but the outbox stays.
func (h *home) nextID(desk *yard, taken map[string]bool) string {
	for {
		h.mu.Lock()
		id := fmt.Sprintf("subagent_%d", h.next)
		h.next++
		h.mu.Unlock()
		if taken[id] {
			continue
		}
		root, _, err := desk.OpenWorkspace(id)
		if err != nil {
			return id
		}
		root.Close()
	}
}

// types returns the active kinds of subagents. It reads them at each call, so that it finds a new kind.
func (h *home) types() ([]profile.Profile, error) {
	var dirs []*os.Root
	defer func() {
		for _, dir := range dirs {
			if dir != nil {
				dir.Close()
			}
		}
	}()
	for _, place := range []string{filepath.Join(h.settings.Workspace, layout.ProfilesDir), filepath.Join(h.settings.Project, ".agent/subagent_types")} {
		dir, err := os.OpenRoot(place)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	all, skipped, err := profile.All(dirs...)
	if err != nil {
		return nil, err
	}
	for _, why := range skipped {
		h.note(why)
	}
	for _, name := range h.settings.Types {
		if !slices.ContainsFunc(all, func(p profile.Profile) bool { return strings.EqualFold(p.Name, name) }) {
			h.note(fmt.Sprintf("subagent_types names %q, and there is no such kind of subagent", name))
		}
	}
	written, _, err := profile.Load(dirs[0])
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p profile.Profile) bool { return !h.isOn(p.Name, written) }), nil
}

// isOn reports whether a kind of subagent is active. If the settings name no kinds, the default kinds are active, and
// so are the kinds that MassGen has written.
func (h *home) isOn(name string, written []profile.Profile) bool {
	equal := func(other string) bool { return strings.EqualFold(other, name) }
	if h.settings.Types != nil {
		return slices.ContainsFunc(h.settings.Types, equal)
	}
	return slices.ContainsFunc(modes.DefaultTypes, equal) || slices.ContainsFunc(written, func(p profile.Profile) bool { return equal(p.Name) })
}

// begunPage returns the answer about children in the background.
func begunPage(desk *yard, op mg.Operation, note string, all ...*begun) (*mcp.Page, error) {
	answer := struct {
		Success   bool         `json:"success"`
		Operation mg.Operation `json:"operation"`
		Mode      string       `json:"mode"`
		Subagents []any        `json:"subagents"`
		Note      string       `json:"note"`
	}{true, op, "background", []any{}, note}
	for _, one := range all {
		answer.Subagents = append(answer.Subagents, one.entry())
	}
	return desk.Page().Object(answer)
}

// runningEntry is a child in the background that has started.
type runningEntry struct {
	SubagentID string    `json:"subagent_id"`
	Status     mg.Status `json:"status"`
	Workspace  string    `json:"workspace"`
	StatusFile *string   `json:"status_file"`
	Timeout    int       `json:"timeout_seconds"`
	Type       string    `json:"subagent_type,omitempty"`
	Warning    string    `json:"warning,omitempty"`
}

// errorEntry is a child that could not start.
type errorEntry struct {
	SubagentID string    `json:"subagent_id"`
	Status     mg.Status `json:"status"`
	Workspace  string    `json:"workspace"`
	Error      string    `json:"error"`
}

func (b *begun) entry() any {
	workspace := mcp.Words(b.workspace)
	if b.failure != "" {
		return errorEntry{b.id.String(), mg.StatusError, workspace, b.failure}
	}
	e := runningEntry{b.id.String(), mg.StatusRunning, workspace, nil, b.timeout, b.kind, outcome.JoinWarnings(b.warnings...)}
	if b.statusFile != "" {
		e.StatusFile = &b.statusFile
	}
	return e
}
