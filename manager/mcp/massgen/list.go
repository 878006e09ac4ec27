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

// The bounds of a list.
const (
	maxListed  = 100 // the newest
	maxResults = 8   // of them with their results
	maxPeers   = 64
	cellRoom   = 1_000 // of a text of another's, in bytes of JSON
)

// listed is a child as it is listed: the fields of the registry, and what is known beside them.
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

// listOwn are this parent's children. A result is shown with those that have one here, the newest ones.
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

// listedOf is an entry of a registry, in which a stranger may have written. All but the task is what it should be, or is left out.
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

// sessionOf is the session of an entry, "" where there is none.
func sessionOf(entry layout.Entry) string {
	if entry.SessionID == nil {
		return ""
	}
	return wordOf(*entry.SessionID)
}

// wordOf is a text that is one word, such as an agent's id, else "".
func wordOf(text string) string {
	if _, err := delegation.ParseToken(text); err != nil {
		return ""
	}
	return text
}

// timeOf is a text that is a time, else "".
func timeOf(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return stamp(at)
	}
	return ""
}

// plainPath is a path in which nobody can say anything.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/@+~-]{0,1000}$`)

// pathOf is a text that is such a path, else "".
func pathOf(text string) string {
	if !plainPath.MatchString(text) {
		return ""
	}
	return text
}

// known is a status that there is.
func known(status mg.Status) mg.Status {
	switch status {
	case mg.StatusCompleted, mg.StatusCompletedButTimeout, mg.StatusPartial, mg.StatusTimeout, mg.StatusError,
		mg.StatusPending, mg.StatusRunning, mg.StatusFailed, mg.StatusCancelled:
		return status
	}
	return mg.StatusError
}

// lost is a child that the registry has at work, and the outbox does not have.
func (one *listed) lost(entry layout.Entry) {
	begun, err := time.Parse(time.RFC3339, entry.CreatedAt)
	if entry.Status.Terminal() || err == nil && time.Since(begun) < time.Minute {
		return // it has ended, or is just being asked for
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

// peers are the children of other agents, as their registries in the directory of the peers' workspaces have them.
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

// peer are the children of one other agent. A registry that cannot be read has none.
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
