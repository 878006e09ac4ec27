package massgen

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/outcome"
	"torno/manager/mcp"
)

func (h *home) listTool() mcp.Tool {
	return mcp.Tool{
		Name: "list_subagents", Title: "List subagents", Reads: true,
		About: `
List all subagents, those that run and those that have ended, also of your peers: where they stand, and whether continue_subagent can go on with them.`,
		Input: `{"type": "object", "properties": {}}`,
		Call:  h.call(h.list),
	}
}

// These constants bound a list.
const (
	maxListed  = 100 // the newest
	maxResults = 8   // how many of them come with their results
	maxPeers   = 64
	cellRoom   = 1_000 // for text of a stranger, in bytes of JSON
)

// listed is a child in a list: the fields of the registry, and other known facts.
type listed struct {
	layout.Entry
	StartedAt string          `json:"started_at,omitempty"`
	Elapsed   *float64        `json:"elapsed_seconds,omitempty"`
	Timeout   int             `json:"timeout_seconds,omitempty"`
	Remaining *float64        `json:"seconds_remaining,omitempty"`
	Result    *outcome.Result `json:"result,omitempty"`
}

func (h *home) list(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	if failure := mg.ParseList(raw); failure != nil {
		return failed(desk, failure)
	}
	page := desk.Page()
	answer := struct {
		Success   bool         `json:"success"`
		Operation mg.Operation `json:"operation"`
		Subagents []listed     `json:"subagents"`
		Count     int          `json:"count"`
		More      int          `json:"more,omitempty"` // older ones, which are not listed
	}{Success: true, Operation: mg.OpList, Subagents: []listed{}}
	own, err := h.listOwn(ctx, desk, page)
	if err != nil {
		return trouble(desk, mg.OpList, err)
	}
	answer.Subagents = append(answer.Subagents, own...)
	for _, entry := range h.peers() {
		answer.Subagents = append(answer.Subagents, h.listedOf(page, entry))
	}
	if more := len(answer.Subagents) - maxListed; more > 0 {
		answer.Subagents, answer.More = answer.Subagents[more:], more
	}
	answer.Count = len(answer.Subagents)
	return page.Object(answer)
}

// listOwn lists this parent's children. The newest of those that have ended come with their results.
func (h *home) listOwn(ctx context.Context, desk *yard, page *mcp.Page) ([]listed, error) {
	list, err := desk.List(ctx)
	if err != nil {
		return nil, err
	}
	registry, err := h.registry()
	if err != nil {
		return nil, err
	}
	entries := registry.Subagents[max(0, len(registry.Subagents)-maxListed):]
	all := make([]listed, 0, len(entries))
	results := 0
	for _, entry := range slices.Backward(entries) {
		one := h.listedOf(page, entry)
		item := slices.IndexFunc(list.Items, func(item manager.Item) bool { return item.SubagentID == entry.SubagentID })
		switch {
		case item < 0:
			one.lost(entry)
		case list.Items[item].Status == "":
			one.runs(list.Items[item])
			one.Workspace = mcp.Words(list.Items[item].Workspace)
		case results < maxResults && page.Room() > enough:
			results++
			s, err := h.collect(desk, page, mcp.Child{Item: list.Items[item]}, cellRoom)
			if err != nil {
				return nil, err
			}
			one.ended(s, list.Items[item])
		}
		all = append(all, one)
	}
	slices.Reverse(all)
	return all, nil
}

// listedOf shows an entry of a registry. A stranger may have written into it. So listedOf quotes the task, and drops
// every other field that does not have its proper form.
func (h *home) listedOf(page *mcp.Page, entry layout.Entry) listed {
	one := listed{Entry: layout.Entry{
		SubagentID: entry.SubagentID, Status: known(entry.Status), Workspace: pathOf(entry.Workspace), CreatedAt: timeOf(entry.CreatedAt),
		ExecutionTime: entry.ExecutionTime, Success: entry.Success, Continuable: entry.Continuable, ContinuableVia: "context_recovery",
		SourceAgent: wordOf(entry.SourceAgent), LastContinuedAt: timeOf(entry.LastContinuedAt),
	}}
	one.Task, _ = page.Field(layout.Preview(entry.Task), cellRoom)
	if session := sessionOf(entry); session != "" {
		one.SessionID, one.ContinuableVia = &session, "session"
	}
	return one
}

// sessionOf returns the session of an entry, or "".
func sessionOf(entry layout.Entry) string {
	if entry.SessionID == nil {
		return ""
	}
	return wordOf(*entry.SessionID)
}

// wordOf returns text if it is one word, such as an agent's ID, and otherwise "".
func wordOf(text string) string {
	if _, err := delegation.ParseToken(text); err != nil {
		return ""
	}
	return text
}

// timeOf returns text if it is a time, and otherwise "".
func timeOf(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return stamp(at)
	}
	return ""
}

// plainPath matches a path whose characters cannot carry a message.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/@+~-]{0,1000}$`)

// pathOf returns text if it is such a path, and otherwise "".
func pathOf(text string) string {
	if !plainPath.MatchString(text) {
		return ""
	}
	return text
}

// known returns status if MassGen knows it, and otherwise the status error.
func known(status mg.Status) mg.Status {
	switch status {
	case mg.StatusCompleted, mg.StatusCompletedButTimeout, mg.StatusPartial, mg.StatusTimeout, mg.StatusError,
		mg.StatusPending, mg.StatusRunning, mg.StatusFailed, mg.StatusCancelled:
		return status
	}
	return mg.StatusError
}

// lost marks a child as failed if the registry says that it is at work and the outbox does not have it.
func (one *listed) lost(entry layout.Entry) {
	begun, err := time.Parse(time.RFC3339, entry.CreatedAt)
	if entry.Status.Terminal() || err == nil && time.Since(begun) < time.Minute {
		return // it has ended, or its request is just being made
	}
	one.Status, one.Success = mg.StatusFailed, false
}

func (one *listed) runs(item manager.Item) {
	one.Status, one.Success = mg.StatusRunning, false
	if item.State == delegation.StateQueued || item.State == "" {
		one.Status = mg.StatusPending
	}
	since := item.RunningSince
	if since.IsZero() {
		since = item.CreatedAt
	}
	one.StartedAt, one.Timeout = stamp(since), int(item.Timeout/time.Second)
	elapsed := max(0, time.Since(since).Seconds())
	remaining := max(0, item.Timeout.Seconds()-elapsed)
	one.Elapsed, one.Remaining = &elapsed, &remaining
}

func (one *listed) ended(s shown, item manager.Item) {
	one.Status, one.Success, one.ExecutionTime, one.StartedAt = s.Status, s.Success, s.ExecutionTime, stamp(item.StartedAt)
	if s.job == mg.StatusCancelled {
		one.Status = mg.StatusCancelled
	}
	one.Workspace, one.Result = s.Workspace, &s.Result
}

// peers returns the children of other agents. It reads them from the registries in the directory of the peers'
// workspaces.
func (h *home) peers() (all []layout.Entry) {
	if h.settings.Temp == "" {
		return nil
	}
	root, err := os.OpenRoot(h.settings.Temp)
	if err != nil {
		return nil
	}
	defer root.Close()
	held, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer held.Close()
	entries, err := held.ReadDir(maxPeers)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		for _, one := range peer(root, entry.Name()) {
			one.SourceAgent = entry.Name()
			all = append(all, one)
		}
	}
	return all
}

// peer returns the children of one other agent. An unreadable registry counts as empty.
func peer(root *os.Root, name string) []layout.Entry {
	above, err := beneath.Step(root, name)
	if err != nil {
		return nil
	}
	defer above.Close()
	tree, err := layout.OpenExisting(above)
	if err != nil {
		return nil
	}
	defer tree.Close()
	registry, err := tree.Registry()
	if err != nil {
		return nil
	}
	return registry.Subagents[max(0, len(registry.Subagents)-maxListed):]
}
