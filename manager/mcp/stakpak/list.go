package stakpak

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"torno/manager/mcp"
)

func (t *tasks) allTool() mcp.Tool {
	return mcp.Tool{
		Name: "get_all_tasks", Title: "All tasks", Reads: true,
		About: `
List the background tasks with their status, newest first.`,
		Input: `{
"type": "object", "required": ["view"],
"properties": {"view": {"type": "string", "description": "any text: there is one view"}}
}`,
		Call: t.all,
	}
}

type allInput struct {
	View string `json:"view"`
}

const (
	maxListed  = 100 // tasks of one answer
	maxCommand = 100 // characters
)

func (t *tasks) all(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	if _, err := mcp.Arguments[allInput](raw); err != nil {
		return nil, err
	}
	children, more, err := t.newest(ctx, desk)
	if err != nil {
		return nil, err
	}
	page := desk.Page()
	if len(children) == 0 {
		return page.Printf("No background tasks found."), nil
	}
	page.Printf("# Background Tasks\n\n| Task ID | Status | Command | Start Time | Duration | Output |\n|---|---|---|---|---|---|\n")
	for _, child := range children {
		page.Printf("| %s | %s | %s | %s | %s | ", mcp.Words(child.SubagentID), statusOf(child.Item),
			cell(t.command(child)), started(child).UTC().Format(clock), duration(child))
		if output := outputOf(child); output != "" {
			page.Cell(output, 100)
		}
		page.Printf(" |\n")
	}
	page.Printf("\n**Total: %d task(s)**", len(children))
	if more {
		page.Printf(" and older ones")
	}
	noteHost(page, desk)
	return page, nil
}

// newest are the tasks of the outbox, newest first, and those of this server whose results the client has; more says that there are others.
func (t *tasks) newest(ctx context.Context, desk *mcp.Desk) (children []mcp.Child, more bool, err error) {
	list, err := desk.List(ctx)
	if err != nil {
		return nil, false, err
	}
	ids := t.known()
	for _, item := range slices.Backward(list.Items) {
		delete(ids, item.SubagentID)
		if len(children) == maxListed {
			return children, true, nil
		}
		child, err := desk.Find(item.SubagentID)
		if err != nil {
			continue // its result was taken since
		}
		children = append(children, child)
	}
	for id := range ids {
		if child, err := desk.Find(id); err == nil {
			children = append(children, child)
		}
		if len(children) == maxListed {
			more = true
			break
		}
	}
	slices.SortStableFunc(children, func(a, b mcp.Child) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return children, list.More || more, nil
}

// cell is a text of the parent's as a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(cut(text, maxCommand), "|", `\|`)
}

// cut is the first characters of a text.
func cut(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:characters]) + "..."
	}
	return text
}

// outputOf is what a task has left: its answer, or what it has printed last.
func outputOf(child mcp.Child) string {
	switch {
	case child.Result == nil || child.Result.Error != nil:
		return ""
	case child.Result.Answer != "":
		return child.Result.Answer
	}
	return child.Result.StdoutTail
}
