package massgen

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	mg "torno/manager/massgen"
	"torno/manager/mcp"
)

// start starts a tool in the background. It accepts only the tools that MassGen itself rewrites this way.
func (h *home) start(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[struct {
		ToolName  string          `json:"tool_name"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Args      json.RawMessage `json:"args"`
	}](raw)
	if err != nil {
		return nil, err
	}
	name, arguments := in.ToolName, in.Arguments
	if name == "" {
		name = in.Tool
	}
	if len(arguments) == 0 {
		arguments = in.Args
	}
	if strings.TrimSpace(name) == "" {
		return jobFailed(desk, "tool_name is required")
	}
	var fields map[string]json.RawMessage
	if len(arguments) > 0 && (json.Unmarshal(arguments, &fields) != nil || fields == nil) {
		return jobFailed(desk, "arguments must be a JSON object")
	}
	target := map[string]work{
		"spawn_subagents": h.spawn, "continue_subagent": h.continueSubagent,
	}[bare(name)]
	if target == nil || !h.settings.Background {
		return jobFailed(desk, "Tool '%.200s' is not available for background execution", name)
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["background"] = json.RawMessage("true")
	inBackground, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	page, err := target(ctx, desk, inBackground)
	if err != nil {
		return nil, err
	}
	return withJobs(page, bare(name))
}

// bare returns the name of a tool without the prefix that a client adds: mcp__server__spawn_subagents.
func bare(name string) string {
	if i := strings.LastIndex(name, "__"); i >= 0 && strings.HasPrefix(name, "mcp__") {
		return name[i+2:]
	}
	return name
}

// withJobs adds the IDs of the started jobs to the tool's answer.
func withJobs(page *mcp.Page, name string) (*mcp.Page, error) {
	var answer map[string]any
	if err := json.Unmarshal([]byte(page.Structure()), &answer); err != nil {
		return nil, errors.Join(errors.New("the tool's answer is no object"), err)
	}
	if answer["success"] != true {
		return page, nil
	}
	ids := []string{}
	list, _ := answer["subagents"].([]any)
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		if id, ok := fields["subagent_id"].(string); ok && fields["status"] == string(mg.StatusRunning) {
			ids = append(ids, id)
		}
	}
	answer["job_ids"], answer["message"] = ids, "Started "+mcp.Words(name)+" in background"
	if len(ids) == 1 {
		answer["job_id"], answer["subagent_id"], answer["status"] = ids[0], ids[0], mg.StatusRunning
		answer["tool_name"], answer["tool_type"] = "subagent", "subagent"
	}
	return page.Object(answer)
}
