package manager

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"torno/delegation"
)

// MaxItems is how many subagents a listing tells of.
const MaxItems = 1000

// Item is the state of a subagent, as the outbox's files tell it.
type Item struct {
	SubagentID string
	RequestID  string
	State      delegation.State  // "" when the watcher did not say
	Status     delegation.Status // when there is a response
	Reason     delegation.Reason
	ExitCode   int
	Usage      *delegation.Usage // when there is a response that has it
	Position   int               // in the queue, from 1
	ParentID   string            // the subagent with whose run it ends, as the watcher says; "" where there is none
	Depth      int               // how deep it stands then: 2 below a run without a parent

	Task         string // its beginning
	Workspace    string
	Timeout      time.Duration
	CreatedAt    time.Time
	RunningSince time.Time
	Deadline     time.Time

	Approvals []delegation.PendingApproval // the agent's questions that wait
}

// Listing is the subagents whose result was not taken yet, oldest first.
type Listing struct {
	Items []Item
	More  bool // there are more than MaxItems
}

// errEnough ends a listing that is full, and a stream of events of which the caller has enough.
var errEnough = errors.New("enough")

// List reads the outbox's request files and what belongs to them. It leaves out a request that is not readable: the host
// responds to it, and no run of it can be waited for.
func (m *Manager) List(ctx context.Context) (Listing, error) {
	var list Listing
	limit := m.requestLimit()
	err := m.dir.Names(ctx, 256, func(names []string) error {
		for _, name := range names {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			item, ok := m.item(name, limit)
			if !ok {
				continue
			}
			if len(list.Items) == MaxItems {
				list.More = true
				return errEnough
			}
			list.Items = append(list.Items, item)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Listing{}, err
	}
	slices.SortFunc(list.Items, func(a, b Item) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.SubagentID, b.SubagentID)
	})
	return list, nil
}

// requestLimit is the size of the longest request that the watcher reads. A longer file has no run.
func (m *Manager) requestLimit() int64 {
	beat, err := m.heartbeat()
	if limit := beat.Limits.RequestBytes; err == nil && limit > 0 {
		return min(limit, maxRequest)
	}
	return usualRequest
}

// item reads everything about the subagent that the name of a request file names.
func (m *Manager) item(name string, limit int64) (Item, bool) {
	kind, id := delegation.ParseName(name)
	if kind != delegation.KindRequest {
		return Item{}, false
	}
	data, stamp, err := m.read(name, limit)
	if err != nil {
		return Item{}, false
	}
	req, err := delegation.DecodeRequest(data)
	if err != nil || req.SubagentID.String() != id {
		return Item{}, false
	}
	run := m.runOf(req)
	item := Item{
		SubagentID: id, RequestID: run.RequestID(),
		Task: beginning(req.Task, 100), Workspace: run.workspace, Timeout: run.timeout, CreatedAt: req.CreatedAt,
	}
	if item.CreatedAt.IsZero() {
		item.CreatedAt = stamp.ModTime
	}
	if status, ok := run.status(); ok {
		item.State, item.Reason, item.Position = status.State, status.Reason, status.Position
		item.ParentID, item.Depth = status.ParentID, status.Depth
		item.RunningSince, item.Deadline, item.Approvals = status.RunningSince, status.Deadline, status.Approvals
	}
	if response, _ := run.response(); response != nil {
		item.State, item.Approvals = delegation.StateEnded, nil
		item.Status, item.Reason, item.ExitCode, item.Usage = response.Status, response.Reason, response.ExitCode, response.Usage
	}
	return item, true
}

// beginning is the first n characters of a text.
func beginning(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
