package stakpak

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"torno/manager"
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
	maxListed  = 100   // tasks per answer
	maxCommand = 100   // characters
	maxOutput  = 100   // characters
	maxRead    = 1_000 // bytes of an answer; a cell shows their beginning
)

func (t *tasks) all(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	if _, err := mcp.Arguments[allInput](raw); err != nil {
		return nil, err
	}
	leave, err := t.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := t.newest(ctx, desk)
	if err != nil {
		return nil, err
	}
	page := desk.Page()
	if len(list.tasks)+len(list.troubles) == 0 {
		return page.Printf("No background tasks found."), nil
	}
	page.Printf("# Background Tasks\n\n| Task ID | Status | Command | Start Time | Duration | Output |\n|---|---|---|---|---|---|\n")
	for _, one := range list.tasks {
		page.Printf("| %s | %s | %s | %s | %s | ", mcp.Words(one.SubagentID), statusOf(one.Item),
			cell(t.command(one.Child)), started(one.Child).UTC().Format(clock), duration(one.Child))
		output, err := outputOf(ctx, desk, one)
		if err != nil {
			list.troubles = append(list.troubles, err)
		}
		if output != "" {
			page.Cell(output, maxOutput)
		}
		page.Printf(" |\n")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	page.Printf("\n**Total: %d task(s)**", len(list.tasks))
	if list.more {
		page.Printf(" and older ones")
	}
	list.noteTroubles(page, desk)
	noteHost(page, desk)
	return page, nil
}

// listed is a task in a listing.
type listed struct {
	mcp.Child
	output string // of a task whose result was taken
}

// listing holds the newest tasks, newest first.
type listing struct {
	tasks    []listed
	more     bool    // there are older ones
	troubles []error // of tasks or outputs that could not be read
}

func (l listing) noteTroubles(page *mcp.Page, desk *mcp.Desk) {
	if len(l.troubles) > 0 {
		page.Printf("\n\nNote: %d tasks could not be read whole: ", len(l.troubles)).Trouble(desk, l.troubles[0])
	}
}

// newest lists the tasks of the outbox, and the tasks of this server whose results the client has. It reads no result
// that is still in the outbox.
func (t *tasks) newest(ctx context.Context, desk *mcp.Desk) (newest listing, err error) {
	list, err := desk.List(ctx)
	if err != nil {
		return newest, err
	}
	var all []listed
	known := t.known()
	for _, item := range list.Items {
		delete(known, item.SubagentID)
		all = append(all, listed{Child: mcp.Child{Item: item}})
	}
	for id, m := range known {
		all = append(all, listed{Child: mcp.Child{Taken: true, Item: manager.Item{SubagentID: id, RequestID: m.request, CreatedAt: m.asked}}})
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.SubagentID, b.SubagentID))
	})
	newest.more = list.More
	for _, one := range all {
		if len(newest.tasks) == maxListed {
			newest.more = true
			break
		}
		if err := context.Cause(ctx); err != nil {
			return newest, err
		}
		var trouble error
		if one.Taken {
			one, trouble = t.taken(desk, one, known[one.SubagentID].end)
		}
		switch {
		case trouble == nil:
			newest.tasks = append(newest.tasks, one)
		case !errors.Is(trouble, manager.ErrNoRun): // otherwise the copy is no longer kept
			newest.troubles = append(newest.troubles, trouble)
		}
	}
	return newest, nil
}

// taken adds the known end of a task that has left the outbox.
func (t *tasks) taken(desk *mcp.Desk, one listed, known *end) (listed, error) {
	if known != nil && time.Now().Before(known.until) {
		one.Item, one.output = known.item, known.output
		return one, nil
	}
	child, err := desk.Look(one.SubagentID)
	if err != nil || !child.Taken {
		return listed{Child: child}, err
	}
	result, err := desk.Result(child, maxRead)
	if err != nil {
		return listed{}, err
	}
	child.CreatedAt = one.CreatedAt
	e := end{item: child.Item, output: strings.Clone(cut(outputIn(result), 2*maxOutput)), until: result.TakenAt.Add(keptFor)}
	t.keepEnd(e)
	return listed{mcp.Child{Item: e.item, Taken: true}, e.output}, nil
}

// keptFor is how long the copy of a result is kept.
const keptFor = 24 * time.Hour

// cell turns a text of the parent's into a table cell.
func cell(text string) string {
	return strings.ReplaceAll(cut(text, maxCommand), "|", `\|`)
}

// cut returns the first characters of a text.
func cut(text string, characters int) string {
	if begin := first(text, characters); begin != text {
		return begin + "..."
	}
	return text
}

// first returns the beginning of a text.
func first(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:characters])
	}
	return text
}

// outputOf returns the beginning of a task's output.
func outputOf(ctx context.Context, desk *mcp.Desk, one listed) (string, error) {
	if one.Taken || !one.Ended() {
		return one.output, nil
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	result, err := desk.Result(one.Child, maxRead)
	if errors.Is(err, manager.ErrNoRun) || errors.Is(err, manager.ErrSuperseded) {
		return "", nil // it was taken since
	}
	return outputIn(result), err
}

// outputIn returns the visible output of a result: the answer, or the end of standard output. After a refusal it
// returns nothing, because the texts are the host's.
func outputIn(result manager.Result) string {
	switch {
	case result.Error != nil:
		return ""
	case result.Answer != "":
		return result.Answer
	}
	return result.StdoutTail
}
